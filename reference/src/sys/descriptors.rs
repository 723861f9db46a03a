//! Descriptors by their numbers: their inheritance, and adopting inherited ones.

use std::ffi::c_int;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes the child of `command` a session leader that inherits 0, 1, 2 and `kept`, nothing else.
pub(crate) fn spawn_sealed(command: &mut Command, kept: Vec<RawFd>) {
    let prepare = move || {
        nix::unistd::setsid()?;
        super::seal_descriptors()?;
        kept.iter().try_for_each(|fd| keep_over_exec(*fd))
    };
    // SAFETY: the closure makes only async-signal-safe system calls and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

pub(super) fn keep_over_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: F_SETFD changes a flag of a descriptor number; a bad number gives EBADF.
    let result = unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    checked(result).map(drop)
}

/// Takes over a descriptor that the launcher left open for us; an error if it is not open.
pub(crate) fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks; a number that is not open gives EBADF.
    checked(unsafe { libc::fcntl(fd, libc::F_GETFD) })?;
    // SAFETY: the descriptor is open, was made for us alone, and nothing else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Copies the descriptor of this number, which this process has from its caller: EBADF for one of its own,
/// which are all closed on exec.
pub(crate) fn copy_inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only asks; a number that is not open gives EBADF.
    let flags = checked(unsafe { libc::fcntl(fd, libc::F_GETFD) })?;
    if flags & libc::FD_CLOEXEC != 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: F_DUPFD_CLOEXEC makes a new descriptor.
    let copy = checked(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Sets close-on-exec on the descriptor of this number; a number that is not open is ignored.
#[cfg(target_os = "macos")]
pub(super) fn seal_by_number(fd: RawFd) {
    // SAFETY: F_SETFD changes a flag of a descriptor number; a bad number gives EBADF.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Closes the descriptor of this number, whose owner must not use it any more.
#[cfg(target_os = "macos")]
pub(super) fn close_by_number(fd: RawFd) {
    // SAFETY: closing by number; by contract it is not used again.
    unsafe { libc::close(fd) };
}
