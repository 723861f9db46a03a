//! The end of a helper program that may be starting a process of its own.

use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::{ProcessHandle, is_shown_as_itself, shown, signal_process};
use crate::sys::kernel_file;

/// Kills `helper`, a child of ours, and its children. A child that is not tied to the helper yet
/// would outlive it: `bwrap` ties its own some time after the fork.
pub(crate) fn kill_with_children(helper: &ProcessHandle) -> io::Result<()> {
    signal_process(helper, libc::SIGSTOP)?;
    // Stopped, it starts no more, and its dead children keep their numbers.
    let ends = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    match rustix::io::retry_on_intr(|| waitid(WaitId::PidFd(helper.as_fd()), ends)) {
        Ok(_) => children(helper).into_iter().try_for_each(kill_child)?,
        // It is reaped elsewhere.
        Err(rustix::io::Errno::CHILD) => {}
        Err(other) => return Err(other.into()),
    }
    signal_process(helper, libc::SIGKILL)
}

/// Returns the children of `helper`, as far as `/proc` names them by numbers that are ours.
fn children(helper: &ProcessHandle) -> Vec<Pid> {
    let number = shown(helper).ok().filter(|_| is_shown_as_itself());
    let list = number.map(|id| kernel_file::text(format!("/proc/{id}/task/{id}/children")));
    let list = list.and_then(Result::ok).unwrap_or_default();
    list.split_whitespace().filter_map(|id| id.parse().ok()).map(Pid::from_raw).collect()
}

fn kill_child(child: Pid) -> io::Result<()> {
    match kill(child, Signal::SIGKILL) {
        Err(Errno::ESRCH) => Ok(()),
        other => Ok(other?),
    }
}
