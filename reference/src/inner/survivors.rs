//! Without a pid namespace: ends what the command left behind, by adopting and killing it.

use std::fs;
use std::io;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sys::{self, Child};

/// Kills and reaps children until none is left. Orphans of what is killed become our children.
pub(super) fn end() -> io::Result<()> {
    loop {
        // Most commands leave none, and this is quicker than the list.
        if !sys::has_child(None)? {
            return Ok(());
        }
        // Unreaped children of ours: their numbers cannot mean anyone else.
        for child in children()? {
            let _dead_already = kill(child, Signal::SIGKILL);
        }
        // One that the list lacks is on the next: it only lacks some while others end.
        if was_reaped(sys::reap(true)?) {
            while was_reaped(sys::reap(false)?) {}
        }
    }
}

fn was_reaped(child: Child) -> bool {
    matches!(child, Child::Exited(..) | Child::Signalled(..))
}

fn children() -> io::Result<Vec<Pid>> {
    let text = fs::read_to_string("/proc/thread-self/children")?;
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).map(Pid::from_raw).collect())
}
