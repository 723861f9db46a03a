//! Without a pid namespace: ends what the command left behind, by adopting and killing it.

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Kills and reaps children until none is left. Orphans of what is killed become our children.
pub(super) fn end() -> io::Result<()> {
    loop {
        if !is_anyone_left()? {
            return Ok(());
        }
        // Unreaped children of ours: their numbers cannot mean anyone else.
        for child in children()? {
            let _dead_already = kill(child, Signal::SIGKILL);
        }
        // One that the list lacks is on the next: it only lacks some while others end.
        if reap(None)? {
            while reap(Some(WaitPidFlag::WNOHANG))? {}
        }
    }
}

/// Whether there is a child; most commands leave none, and this is quicker than the list.
fn is_anyone_left() -> io::Result<bool> {
    match nix::sys::wait::waitid(nix::sys::wait::Id::All, LOOK) {
        Err(Errno::ECHILD) => Ok(false),
        other => Ok(other.map(|_| true)?),
    }
}

const LOOK: WaitPidFlag =
    WaitPidFlag::WEXITED.union(WaitPidFlag::WNOHANG).union(WaitPidFlag::WNOWAIT);

/// Whether a child was reaped.
fn reap(flags: Option<WaitPidFlag>) -> io::Result<bool> {
    match waitpid(None, flags) {
        Err(Errno::ECHILD) | Ok(WaitStatus::StillAlive) => Ok(false),
        Ok(_) | Err(Errno::EINTR) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

fn children() -> io::Result<Vec<Pid>> {
    let text = fs::read_to_string("/proc/thread-self/children")?;
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect())
}
