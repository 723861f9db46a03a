//! Waiting for children, whatever they died of: signals without a name have numbers too.
//!
//! Nothing here allocates or touches what belongs to a thread: see [`super::beside`].

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{self, WaitId, WaitIdOptions, WaitOptions};

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
    let options = if block { WaitOptions::empty() } else { WaitOptions::NOHANG };
    let (pid, status) = match rustix::io::retry_on_intr(|| process::wait(options)) {
        Err(Errno::CHILD) => return Ok(Child::None),
        Err(errno) => return Err(errno.into()),
        Ok(None) => return Ok(Child::Running),
        Ok(Some(ended)) => ended,
    };
    let pid = Pid::from_raw(pid.as_raw_nonzero().get());
    Ok(match status.terminating_signal() {
        Some(signal) => Child::Signalled(pid, signal),
        None => Child::Exited(pid, status.exit_status().unwrap_or_default()),
    })
}

/// Waits for the end of one child; `None` if it is not ours to reap.
pub(crate) fn reap_process(process: &OwnedFd) -> io::Result<Option<ExitStatus>> {
    let wait = || process::waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED);
    let ended = match rustix::io::retry_on_intr(wait) {
        Err(Errno::CHILD) => return Ok(None),
        other => other?,
    };
    Ok(ended.map(|ended| {
        let signal = ended.terminating_signal();
        ExitStatus::from_raw(signal.unwrap_or(ended.exit_status().unwrap_or_default() << 8))
    }))
}

/// Whether there is a child, dead or alive, in `group` or at all.
pub(crate) fn has_child(group: Option<Pid>) -> io::Result<bool> {
    let group = group.and_then(|group| process::Pid::from_raw(group.as_raw()));
    let of_group = group.map_or(WaitId::All, |group| WaitId::Pgid(Some(group)));
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match process::waitid(of_group, look) {
        Err(Errno::CHILD) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}
