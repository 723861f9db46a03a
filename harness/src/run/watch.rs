//! Watching children: one loop that feeds, drains, times and reaps any number of them, while the
//! listeners and the terminal of the arm are served. Woken by the kernel, never by a clock of its
//! own.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::disk::DiskBound;
use super::watched_child::WatchedChild;
use crate::workspace::{ArmListeners, ArmTerminal};

/// The poll interval of a child where the kernel cannot wake us, in milliseconds.
const NO_WATCH_MS: u16 = 5;

/// The state of a run after one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchOutcome {
    /// All children have ended.
    Done,
    /// The process that asked for this arm is gone; the children were killed.
    Abandoned,
    /// The arm has more on disk than it may; the children were killed.
    Overfull,
}

/// The context that is served besides the children.
#[derive(Debug)]
pub(super) struct WatchInputs<'a> {
    /// The listeners of the arm.
    pub(super) listeners: &'a mut ArmListeners,
    /// Its terminal.
    pub(super) terminal: Option<&'a mut ArmTerminal>,
    /// The socket of the process that asked for the arm.
    pub(super) boss: Option<BorrowedFd<'a>>,
    /// True once that process was told that nothing has happened for a moment.
    pub(super) settled: bool,
    /// The longest time for which this process did not run although it should have.
    pub(super) stalled: Duration,
    /// The bound on the arm's disk space.
    pub(super) disk: DiskBound,
}

/// The line that tells the boss that an arm only waits from now on.
pub const SETTLED: &[u8] = b"~";
/// The time without an event after which an arm only waits.
const QUIET: Duration = Duration::from_millis(10);

/// The longest sleep: a longer one could not tell a frozen host from a quiet backend.
const TICK: Duration = Duration::from_secs(1);

/// Watches `children` until all have ended, serving what is `around`, and gives up at once when
/// the boss hangs up.
///
/// # Errors
/// The errno of poll(2).
pub(super) fn watch(
    children: &mut [WatchedChild],
    around: &mut WatchInputs<'_>,
) -> io::Result<WatchOutcome> {
    loop {
        if let Some(terminal) = around.terminal.as_deref_mut() {
            terminal.collect();
        }
        for child in children.iter_mut().filter(|child| child.running()) {
            child.step(around.terminal.as_deref_mut());
        }
        around.listeners.collect();
        if children.iter().all(|child| !child.running()) {
            return Ok(WatchOutcome::Done);
        }
        let verge = match around.settled {
            true => wait(children, around, None)?,
            false => wait(children, around, Some(QUIET))?,
        };
        let verge = if around.disk.is_exceeded() { WatchOutcome::Overfull } else { verge };
        if verge != WatchOutcome::Done {
            children.iter_mut().filter(|child| child.running()).for_each(WatchedChild::give_up);
            return Ok(verge);
        }
    }
}

/// Sleeps until there is something to do, or for `most`, after which the boss is told that this is
/// only waiting. `Abandoned` when the boss has hung up.
fn wait(
    children: &[WatchedChild],
    around: &mut WatchInputs<'_>,
    most: Option<Duration>,
) -> io::Result<WatchOutcome> {
    let running = || children.iter().filter(|child| child.running());
    let boss = around.boss.map(|fd| PollFd::new(fd, PollFlags::POLLHUP));
    let mut set: Vec<PollFd<'_>> = boss.into_iter().collect();
    let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
    set.extend(around.listeners.descriptors().map(readable));
    set.extend(around.terminal.as_deref().and_then(ArmTerminal::descriptor).map(readable));
    set.extend(
        running().flat_map(WatchedChild::interests).map(|(fd, flags)| PollFd::new(fd, flags)),
    );
    let until = running().map(WatchedChild::due).min().unwrap_or_else(Instant::now);
    let until = most.map_or(until, |most| until.min(Instant::now() + most));
    let asked = Instant::now();
    let limit = timeout(until, running().any(WatchedChild::has_no_watch));
    let polled = poll(&mut set, limit);
    // A process that is frozen or starved is woken late, and everything after it is late, too.
    let longest = limit.as_millis().map_or(TICK, |ms| Duration::from_millis(u64::from(ms)));
    around.stalled = around.stalled.max(asked.elapsed().saturating_sub(longest));
    let quiet = match polled {
        Ok(count) => count == 0,
        Err(Errno::EINTR) => false,
        Err(errno) => return Err(errno.into()),
    };
    let hung_up =
        around.boss.is_some() && set[0].revents().is_some_and(|r| r.contains(PollFlags::POLLHUP));
    if quiet && most.is_some() {
        around.settled = true;
        if let Some(boss) = around.boss {
            // A boss that does not hear it has hung up, which shows next time.
            let _ = nix::unistd::write(boss, &[SETTLED, b"\n"].concat());
        }
    }
    Ok(if hung_up { WatchOutcome::Abandoned } else { WatchOutcome::Done })
}

fn timeout(until: Instant, unwatched: bool) -> PollTimeout {
    if unwatched {
        return PollTimeout::from(NO_WATCH_MS);
    }
    // Rounded up: waking a moment early would only mean waking twice.
    let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
    let left = left.min(TICK);
    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
