//! The disposition of a process toward a stop from the terminal, read from its status.
//!
//! Nothing here allocates: see [`super::start_beside`].

use std::ffi::CStr;
use std::io::{self, Write};

use nix::unistd::Pid;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open};

/// Bytes of a process's status that are read; it has about 1,500.
const STATUS: usize = 1 << 13;

/// Returns whether `process` handles or ignores SIGTSTP.
pub(crate) fn heeds_stop(process: Pid) -> bool {
    let mut status = [0; STATUS];
    let status = read_status(process, &mut status).unwrap_or_default();
    has_stop(status, b"SigCgt:") || has_stop(status, b"SigIgn:")
}

/// Reads the `/proc` status of a process, as far as there is room.
fn read_status(process: Pid, text: &mut [u8]) -> io::Result<&[u8]> {
    let process = shown(process)?;
    let mut path = [0; 32];
    // The last byte stays: it ends the path.
    write!(&mut path[..31], "/proc/{process}/status")?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let length = rustix::io::read(&file, &mut *text);
    super::close_bare(file);
    Ok(&text[..length?])
}

fn shown(process: Pid) -> io::Result<Pid> {
    let process = rustix::process::Pid::from_raw(process.as_raw()).ok_or(Errno::SRCH)?;
    let pidfd = pidfd_open(process, PidfdFlags::empty())?;
    let shown = super::shown(&pidfd);
    super::close_bare(pidfd);
    shown
}

/// Returns whether SIGTSTP is in the set of signals behind `name`.
fn has_stop(status: &[u8], name: &[u8]) -> bool {
    let set = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name));
    let set = set.and_then(|set| str::from_utf8(set).ok());
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set & (1 << (Signal::TSTP.as_raw() - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ignores_the_stop_is_told_from_others() {
        let status = b"Name:\t\xff\nSigIgn:\t0000000000080000\nSigCgt:\t0000000000000004\n";
        assert!(has_stop(status, b"SigIgn:"));
        assert!(!has_stop(status, b"SigCgt:") && !has_stop(status, b"SigBlk:"));
        let mut text = [0; STATUS];
        let own = read_status(Pid::this(), &mut text).unwrap();
        assert!(own.windows(8).any(|part| part == b"SigCgt:\t"), "{own:?}");
    }
}
