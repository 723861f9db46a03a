//! The pid of a process as `/proc` shows it: it differs where that `/proc` belongs to an outer pid
//! namespace.
//!
//! Nothing here allocates: see [`super::start_beside`].

use std::ffi::CStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};

use nix::unistd::Pid;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// The number of bytes that are read of a pidfd's fdinfo.
const SAID: usize = 512;

/// The number of the process, or thread, behind `pidfd`; an error where `/proc` does not know it.
pub(crate) fn shown(pidfd: impl AsFd) -> io::Result<Pid> {
    let mut path = [0; 48];
    // The last byte stays: it ends the path.
    write!(&mut path[..47], "/proc/self/fdinfo/{}", pidfd.as_fd().as_raw_fd())?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    let file = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut said = [0; SAID];
    let length = rustix::io::read(&file, &mut said);
    super::close_bare(file);
    number(&said[..length?]).ok_or_else(|| Errno::SRCH.into())
}

/// Returns whether `/proc` shows this process under its own pid.
pub(crate) fn is_shown_as_itself() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|own| own.to_str() == Some(&Pid::this().to_string()))
}

fn number(said: &[u8]) -> Option<Pid> {
    let number = said.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Pid:"))?;
    let number = str::from_utf8(number).ok()?.trim().parse().ok()?;
    (number > 0).then(|| Pid::from_raw(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_shown_as_itself_where_proc_is_its_own() {
        let own = crate::sys::open_process(Pid::this()).unwrap();
        assert_eq!(shown(&own).unwrap(), Pid::this());
        assert!(is_shown_as_itself());
    }

    #[test]
    fn who_is_dead_or_out_of_sight_has_no_number() {
        assert_eq!(number(b"pos:\t0\nPid:\t-1\n"), None);
        assert_eq!(number(b"pos:\t0\nPid:\t0\nNSpid:\t0\n"), None);
        assert_eq!(number(b"pos:\t0\nPid:\t17\nNSpid:\t17\t2\n"), Some(Pid::from_raw(17)));
    }
}
