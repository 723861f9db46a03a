//! Descriptors that came with the start: `fds`, `read-fd`, `write-fd`.

use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::sys::uio::pread;

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, TEXT_CAP, done, succeed_with, text};
use crate::output::write_all;
use crate::record::DetailValue;
use crate::sys;
use crate::usage_error::UsageError;

/// Reads from the start of a file, or what is next in a pipe or socket.
pub(crate) fn read_fd(args: &ProbeArguments) -> ProbeResult {
    let fd = inherited(args)?;
    let mut buffer = vec![0; TEXT_CAP];
    let (data, call) = match pread(fd, &mut buffer, 0) {
        Err(Errno::ESPIPE) => (read_some(fd), "read"),
        from_start => (from_start.map(|count| buffer[..count].to_vec()), "pread"),
    };
    let data = data.at(call)?;
    succeed_with([("data", text(&data)), ("bytes", DetailValue::Number(data.len() as u64))])
}

/// Reads once: a pipe whose writer lives never ends.
fn read_some(fd: BorrowedFd<'_>) -> nix::Result<Vec<u8>> {
    let mut buffer = vec![0; TEXT_CAP];
    let count = nix::unistd::read(fd, &mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

pub(crate) fn write_fd(args: &ProbeArguments) -> ProbeResult {
    write_all(inherited(args)?, args.bytes("text")).at("write")?;
    done()
}

fn inherited(args: &ProbeArguments) -> Result<BorrowedFd<'static>, ProbeError> {
    let number = i32::try_from(args.number_or("fd", 0)?).ok();
    let fd = number.and_then(sys::borrow);
    Ok(fd.ok_or_else(|| UsageError::bad("fd", "not a descriptor number"))?)
}

/// Lists `names` as `3 -> target`. A descriptor that is not marked close-on-exec came over exec.
#[cfg(target_os = "linux")]
pub(crate) fn fds(_: &ProbeArguments) -> ProbeResult {
    use nix::fcntl::{AT_FDCWD, OFlag, openat};
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let dir = openat(AT_FDCWD, "/proc/self/fd", flags, nix::sys::stat::Mode::empty());
    let numbers = crate::family::fs::entries(dir.at("openat")?).at("getdents")?;
    let found = numbers.iter().filter_map(|number| number.parse().ok()).filter(|fd| *fd > 2);
    let found = found.filter(|fd| survived_exec(*fd)).map(described).collect();
    succeed_with([("names", crate::outcome::names(found))])
}

#[cfg(target_os = "linux")]
fn survived_exec(fd: i32) -> bool {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let flags = sys::borrow(fd).map(|fd| fcntl(fd, FcntlArg::F_GETFD));
    matches!(flags, Some(Ok(bits)) if bits & FdFlag::FD_CLOEXEC.bits() == 0)
}

#[cfg(target_os = "linux")]
fn described(fd: i32) -> String {
    let target = nix::fcntl::readlink(format!("/proc/self/fd/{fd}").as_str());
    let target = target.map_or_else(|errno| format!("? {errno:?}"), |t| t.to_string_lossy().into());
    format!("{fd} -> {target}")
}
