//! Waiting for children, whatever they died of: the usual wrappers know no signal without a name.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::unistd::Pid;

/// What became of a child, or that none has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    /// There is none.
    None,
    /// None has ended.
    Running,
    /// This one exited with a code.
    Exited(Pid, i32),
    /// This one died of a signal, by number.
    Signalled(Pid, i32),
}

/// waitpid(2) for any child; `block` waits until one has ended.
pub(crate) fn reap(block: bool) -> io::Result<Child> {
    let flags = if block { 0 } else { libc::WNOHANG };
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for an int.
        match Errno::result(unsafe { libc::waitpid(-1, &raw mut status, flags) }) {
            Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(Child::None),
            Err(errno) => return Err(errno.into()),
            Ok(0) => return Ok(Child::Running),
            Ok(pid) if libc::WIFSIGNALED(status) => {
                return Ok(Child::Signalled(Pid::from_raw(pid), libc::WTERMSIG(status)));
            }
            Ok(pid) => return Ok(Child::Exited(Pid::from_raw(pid), libc::WEXITSTATUS(status))),
        }
    }
}

/// Waits for the end of one child; `None` if it is not ours to reap.
pub(crate) fn reap_process(process: &OwnedFd) -> io::Result<Option<ExitStatus>> {
    let id = process.as_raw_fd().unsigned_abs();
    // SAFETY: nothing is to be filled in but a structure that may be all zeroes.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: `found` is a valid place for the structure, and the descriptor is open.
        match Errno::result(unsafe {
            libc::waitid(libc::P_PIDFD, id, &raw mut found, libc::WEXITED)
        }) {
            Err(Errno::EINTR) => {}
            Err(Errno::ECHILD) => return Ok(None),
            Err(errno) => return Err(errno.into()),
            Ok(_) => break,
        }
    }
    // SAFETY: waitid has filled in the fields of a child's end.
    let status = unsafe { found.si_status() };
    let exited = found.si_code == libc::CLD_EXITED;
    Ok(Some(ExitStatus::from_raw(if exited { status << 8 } else { status })))
}

/// Whether there is a child, dead or alive, in `group` or at all.
pub(crate) fn has_child(group: Option<Pid>) -> io::Result<bool> {
    let (kind, id) = match group {
        Some(group) => (libc::P_PGID, group.as_raw().unsigned_abs()),
        None => (libc::P_ALL, 0),
    };
    let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: nothing is to be filled in but a structure that may be all zeroes.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `found` is a valid place for the structure.
    match Errno::result(unsafe { libc::waitid(kind, id, &raw mut found, look) }) {
        Err(Errno::ECHILD) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}
