//! The sweep after each arm: processes, mounts and files that should not be there any more.

use std::fmt;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpid};

use crate::sys::{self, table};

mod baseline;
mod kill;
mod lifeline;
mod shared;
mod shared_objects;
mod sockets;

pub(crate) use baseline::Baseline;
pub(crate) use kill::kill_children;
pub(crate) use lifeline::{carries, carrying};
pub(crate) use shared::SharedDirectories;
pub(crate) use shared_objects::{SharedObjects, StrayRecurrence, kind as stray_kind};
pub(crate) use sockets::named as sockets_named;
pub(crate) use table::{check_sight, mounts};

use table::is_doomed;

/// The time that a process that is already dying may take, before it counts as a survivor.
const DYING: Duration = Duration::from_millis(500);

/// The time that the kernel may take to clear away a dead process: it can do nothing any more, and
/// a busy host lets it lie.
const BURIAL: Duration = Duration::from_secs(10);

/// The time for which a heartbeat is watched, several of its beats.
const BEAT: Duration = Duration::from_millis(400);

/// The variable of every backend's environment that carries the word of its arm: a process that
/// hides its command line shows by it.
pub(crate) const ARM_VARIABLE: &str = "BOXPROOF_ARM";

/// Everything that outlived a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RunSurvivors {
    /// The processes; all have been killed.
    pub(crate) processes: Vec<Survivor>,
    /// The heartbeat file that grew although no process was found, as the case calls it.
    pub(crate) beating: Option<String>,
    /// The sockets that no found process holds, one sentence each.
    pub(crate) sockets: Vec<String>,
}

/// A process that outlived its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivor {
    pid: Pid,
    command: String,
    /// The listening sockets it held.
    sockets: Vec<String>,
}

impl Survivor {
    fn look_at(pid: Pid) -> Self {
        let command = command_line(pid).unwrap_or_else(|| format!("[{}]", table::name(pid).trim()));
        Self { pid, command, sockets: sockets::held_by(pid) }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
impl Survivor {
    pub(crate) fn without_sockets(pid: Pid, command: &str) -> Self {
        Self { pid, command: command.to_owned(), sockets: Vec::new() }
    }
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pid, self.command)?;
        if self.sockets.is_empty() {
            return Ok(());
        }
        write!(f, " with {}", self.sockets.join(", "))
    }
}

/// The traces of survivors besides children of ours.
#[derive(Debug, Default)]
pub(crate) struct Traces<'a> {
    /// Processes of ours that stay.
    pub(crate) ours: &'a [i32],
    /// The state before the act: its helpers are ended, too, but are no leftovers.
    pub(crate) baseline: Option<&'a Baseline>,
    /// The nonce that a process may carry in its command line or environment.
    pub(crate) word: Option<&'a str>,
    /// A file that grows while its process lives: its name in the case, and its path.
    pub(crate) heartbeat: Option<(&'a str, PathBuf)>,
}

/// Finds children of ours (orphans included) that still run after a moment, and other processes
/// that show by one of `traces`. Kills them all.
pub(crate) fn survivors(traces: &Traces<'_>) -> RunSurvivors {
    let alive = lasting(|| living(traces));
    let processes: Vec<Survivor> = alive.into_iter().map(Survivor::look_at).collect();
    let beating = match &traces.heartbeat {
        Some((name, file)) if processes.is_empty() && grows(file) => Some((*name).to_owned()),
        _ => None,
    };
    for survivor in &processes {
        let _ = kill(survivor.pid, Signal::SIGKILL);
    }
    kill_children(traces.ours);
    RunSurvivors { processes, beating, sockets: Vec::new() }
}

/// The processes that carry a nonce of the run `run_id` and last.
pub(crate) fn outlasting(run_id: &str) -> Vec<Pid> {
    lasting(|| carrying(run_id))
}

/// Kills the processes that carry `nonce`, but this one, and waits for their end as long as one may take.
pub(crate) fn end_carrying(nonce: &str) {
    let others = || -> Vec<Pid> {
        let found = lifeline::carrying_nonce(nonce).into_iter();
        found.filter(|pid| *pid != getpid()).collect()
    };
    let found = others();
    for pid in &found {
        let _ = kill(*pid, Signal::SIGKILL);
    }
    if !found.is_empty() {
        let _ = lasting(others);
    }
}

/// Returns those processes that `look` finds and that do not end within the time that a process may
/// take.
fn lasting(look: impl Fn() -> Vec<Pid>) -> Vec<Pid> {
    let (until, burial) = (Instant::now() + DYING, Instant::now() + BURIAL);
    let mut alive = look();
    while !alive.is_empty() {
        let until = if alive.iter().all(|pid| is_doomed(*pid)) { burial } else { until };
        if Instant::now() >= until {
            break;
        }
        wait_for_one(&alive, until);
        alive = look();
    }
    alive
}

/// Returns whether a process appends to `file`.
fn grows(file: &Path) -> bool {
    let length = || file.symlink_metadata().map_or(0, |meta| meta.len());
    let (before, until) = (length(), Instant::now() + BEAT);
    while Instant::now() < until {
        if length() != before {
            return true;
        }
        let _ = poll(&mut [], PollTimeout::from(10u8));
    }
    false
}

fn living(traces: &Traces<'_>) -> Vec<Pid> {
    let is_helper = |pid: Pid| traces.baseline.is_some_and(|baseline| baseline.is_helper(pid));
    let mine = |pid: &Pid| traces.ours.contains(&pid.as_raw()) || is_helper(*pid);
    let mut found: Vec<Pid> =
        sys::children_of(getpid()).into_iter().filter(|pid| !mine(pid) && !reaped(*pid)).collect();
    for pid in traces.word.map(lifeline::carrying_nonce).into_iter().flatten() {
        if !mine(&pid) && pid != getpid() && !found.contains(&pid) {
            found.push(pid);
        }
    }
    found
}

/// Reaps `pid`, if it is a dead child; returns whether it is no child any more.
pub(crate) fn reaped(pid: Pid) -> bool {
    !matches!(waitpid(pid, Some(WaitPidFlag::WNOHANG)), Ok(nix::sys::wait::WaitStatus::StillAlive))
}

/// Sleeps until one of `pids` ends, or until the deadline; where nothing can wake us, a moment.
pub(crate) fn wait_for_one(pids: &[Pid], until: Instant) {
    let watches: Vec<_> = pids.iter().filter_map(|pid| sys::exit_watch(*pid)).collect();
    let mut set: Vec<_> =
        watches.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)).collect();
    let left = until.saturating_duration_since(Instant::now());
    let left = if set.len() < pids.len() { left.min(Duration::from_millis(5)) } else { left };
    let _ = poll(&mut set, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO));
}

/// Returns the command line of a process that runs; a zombie has none.
pub(crate) fn command_line(pid: Pid) -> Option<String> {
    let bytes = table::command_words(pid);
    let words: Vec<_> = bytes.split(|b| *b == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ").trim().to_owned();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ended with the test.
    #[cfg(target_os = "linux")]
    struct Sleeper(std::process::Child);

    #[cfg(target_os = "linux")]
    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_is_stopped_is_not_dying_and_who_is_dead_is() {
        let mut sleeper = Sleeper(std::process::Command::new("sleep").arg("600").spawn().unwrap());
        let pid = Pid::from_raw(sleeper.0.id().cast_signed());
        for signal in [Signal::SIGSTOP, Signal::SIGTERM] {
            kill(pid, signal).unwrap();
            assert!(!is_doomed(pid), "{signal}");
        }
        sleeper.0.kill().unwrap();
        wait_for_one(&[pid], Instant::now() + Duration::from_secs(20));
        assert!(is_doomed(pid), "it is not reaped yet");
        sleeper.0.wait().unwrap();
        assert!(is_doomed(pid), "it is gone");
        assert!(!is_doomed(getpid()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_is_on_its_way_out_is_told_from_who_runs() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        assert!(!is_doomed(pid) && !is_doomed(getpid()));
        kill(pid, Signal::SIGKILL).unwrap();
        wait_for_one(&[pid], Instant::now() + Duration::from_secs(20));
        assert!(is_doomed(pid), "dead, and not waited for");
        child.wait().unwrap();
        assert!(is_doomed(pid), "gone");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_ends_meanwhile_does_not_last_and_who_stays_does() {
        let mut sleeper = Sleeper(std::process::Command::new("sleep").arg("600").spawn().unwrap());
        let pid = Pid::from_raw(sleeper.0.id().cast_signed());
        let look = || if is_doomed(pid) { Vec::new() } else { vec![pid] };
        assert_eq!(lasting(look), [pid]);
        let looks = std::cell::Cell::new(0);
        let found = lasting(|| {
            let found = look();
            kill(pid, Signal::SIGKILL).unwrap();
            looks.set(looks.get() + 1);
            found
        });
        assert_eq!((found, looks.get()), (Vec::new(), 2));
        sleeper.0.wait().unwrap();
    }

    #[test]
    fn a_run_can_be_looked_at_here() {
        check_sight().unwrap();
    }
}
