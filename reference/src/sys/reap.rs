//! Waiting for children that exited or died of any signal: signals without a name have numbers too.
//!
//! Nothing here allocates or touches thread-local state: see [`super::start_beside`].

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::unistd::Pid;
use rustix::io::Errno;
use rustix::process::{self, WaitId, WaitIdOptions, WaitOptions};

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessEnd {
    /// It exited with this code.
    Exited(i32),
    /// It died of this signal.
    Signalled(i32),
}

/// The result of reaping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReapedChild {
    /// There is none.
    None,
    /// None has ended.
    Running,
    /// This one had ended, like this.
    Ended(Pid, ProcessEnd),
}

/// waitpid(2) for any child; `block` waits until one has ended.
pub(crate) fn reap(block: bool) -> io::Result<ReapedChild> {
    let options = if block { WaitOptions::empty() } else { WaitOptions::NOHANG };
    match rustix::io::retry_on_intr(|| process::wait(options)) {
        Err(Errno::CHILD) => Ok(ReapedChild::None),
        other => Ok(other?.map_or(ReapedChild::Running, |(child, status)| {
            let end = end_from(status.terminating_signal(), status.exit_status());
            ReapedChild::Ended(Pid::from_raw(child.as_raw_nonzero().get()), end)
        })),
    }
}

/// Returns the end of a child that died of `signal`, or else exited with `code`.
fn end_from(signal: Option<i32>, code: Option<i32>) -> ProcessEnd {
    signal.map_or_else(|| ProcessEnd::Exited(code.unwrap_or_default()), ProcessEnd::Signalled)
}

/// Returns the end of `child`, which stays unreaped, if it has ended.
pub(crate) fn end_of(child: Pid) -> io::Result<Option<ProcessEnd>> {
    let Some(child) = process::Pid::from_raw(child.as_raw()) else { return Ok(None) };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = process::waitid(WaitId::Pid(child), look)?;
    Ok(ended.map(|ended| end_from(ended.terminating_signal(), ended.exit_status())))
}

/// Returns whether a child, dead or alive, exists in `group` or at all.
pub(crate) fn has_child(group: Option<Pid>) -> io::Result<bool> {
    let group = group.and_then(|group| process::Pid::from_raw(group.as_raw()));
    let of_group = group.map_or(WaitId::All, |group| WaitId::Pgid(Some(group)));
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match process::waitid(of_group, look) {
        Err(Errno::CHILD) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}

/// Waits for the end of the child that `which` names; `None` if it is not ours to reap.
pub(super) fn reaped(which: &WaitId<'_>) -> io::Result<Option<ExitStatus>> {
    let wait = || process::waitid(which.clone(), WaitIdOptions::EXITED);
    let ended = match rustix::io::retry_on_intr(wait) {
        Err(Errno::CHILD) => return Ok(None),
        other => other?,
    };
    Ok(ended.map(|ended| {
        let signal = ended.terminating_signal();
        ExitStatus::from_raw(signal.unwrap_or(ended.exit_status().unwrap_or_default() << 8))
    }))
}
