//! Killing every child: all of them first, and only then waiting, for a bounded time. A process
//! that is traced by another one cannot be reaped before that one is dead, too.

use std::time::{Duration, Instant};

use nix::poll::{PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use super::{reaped, wait_for_one};
use crate::sys;

/// The time that processes may take to die of SIGKILL: thousands of them on a busy host take a
/// while.
const DEATHS: Duration = Duration::from_secs(30);

/// Kills and reaps every child of this process and every orphan that comes to it, `ours` apart.
/// Returns whether none is left.
pub(crate) fn kill_children(ours: &[i32]) -> bool {
    let deadline = Instant::now() + DEATHS;
    loop {
        let mut children: Vec<Pid> = sys::children_of(getpid())
            .into_iter()
            .filter(|pid| !ours.contains(&pid.as_raw()))
            .collect();
        if children.is_empty() {
            return true;
        }
        for child in &children {
            let _ = kill(*child, Signal::SIGKILL);
        }
        let count = children.len();
        children.retain(|child| !reaped(*child));
        if children.is_empty() {
            continue;
        }
        if Instant::now() >= deadline {
            return false;
        }
        wait_for_one(&children, deadline);
        let waited = children.len();
        children.retain(|child| !reaped(*child));
        // Dead, and held by a tracer, which comes to us when what is between has died.
        if waited == count && children.len() == waited {
            let _ = poll(&mut [], PollTimeout::from(1u8));
        }
    }
}
