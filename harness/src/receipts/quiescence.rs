//! Rest of a channel: for a while nothing passed, and no process of its parts wanted to run.
//!
//! Silence alone says little on a slow machine, where a part may wait for a processor for longer
//! than any silence lasts. It shows there as one that wants to run; such looks do not count.

use std::path::Path;
use std::time::Duration;

use nix::unistd::Pid;
use tokio::time::Instant;

use super::processes::ChannelStack;
use crate::sys;

/// The interval between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// The number of looks that must find silence: a part may collect for a tenth of a second before it
/// sends.
const LOOKS: u32 = 24;

/// The time that a part may take to begin with its task, if it does not want to run.
const BEGINS: Duration = Duration::from_secs(3);

/// The time for which parts may be at work.
const LIMIT: Duration = Duration::from_secs(8);

/// Silence so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct QuietPeriod {
    events: u64,
    looks: u32,
}

impl QuietPeriod {
    fn since(events: u64) -> Self {
        Self { events, looks: 0 }
    }

    /// Counts one more look: an event ends the silence, and a part at work does not lengthen it.
    fn after_poll(self, events: u64, at_work: bool) -> Self {
        match () {
            () if events != self.events => Self::since(events),
            () if at_work => self,
            () => Self { looks: self.looks + 1, ..self },
        }
    }

    fn is_rest(self) -> bool {
        self.looks >= LOOKS
    }
}

/// Waits until `stack` is at rest; with `before`, not until an event has come since then, unless no
/// part begins with it.
///
/// # Errors
/// Parts that are at work for so long that it is unknown what is still to come.
pub(super) async fn rest(stack: &ChannelStack, before: Option<u64>) -> Result<(), String> {
    let begun = Instant::now();
    let deadline = begun + LIMIT;
    let mut silence = QuietPeriod::since(stack.events());
    loop {
        tokio::time::sleep(LOOK).await;
        silence = silence.after_poll(stack.events(), at_work(stack));
        let happened = before.is_none_or(|before| silence.events != before);
        if silence.is_rest() && (happened || begun.elapsed() >= BEGINS) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(still_at_work(LIMIT));
        }
    }
}

/// Returns the reason why nothing was learnt of parts that are at work for longer than `limit`.
pub(super) fn still_at_work(limit: Duration) -> String {
    format!("its parts are still at work after {limit:?}")
}

/// Returns whether a part of `stack`, or a process of a part, wants to run.
pub(super) fn at_work(stack: &ChannelStack) -> bool {
    stack.parts().map(|part| Pid::from_raw(part.pid().cast_signed())).any(wants_to_run)
}

fn wants_to_run(pid: Pid) -> bool {
    let tasks = walkdir::WalkDir::new(format!("/proc/{pid}/task")).min_depth(1).max_depth(1);
    let states = tasks.into_iter().flatten().filter_map(|task| state(task.path()));
    // A process that waits for a disk goes on by itself, too.
    states.into_iter().any(|state| matches!(state, 'R' | 'D'))
        || sys::children_of(pid).into_iter().any(wants_to_run)
}

/// The letter of a thread; one that is gone, or a system that does not tell, has none.
fn state(task: &Path) -> Option<char> {
    let stat = std::fs::read_to_string(task.join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, killpg};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    fn looked(looks: u32, events: u64, at_work: bool, from: QuietPeriod) -> QuietPeriod {
        (0..looks).fold(from, |silence, _| silence.after_poll(events, at_work))
    }

    #[test]
    fn silence_counts_only_while_nobody_is_at_work() {
        let most = looked(LOOKS - 1, 7, false, QuietPeriod::since(7));
        assert!(!most.is_rest());
        let waited = looked(1000, 7, true, most);
        assert!(!waited.is_rest(), "{waited:?}");
        assert!(looked(1, 7, false, waited).is_rest());
    }

    #[test]
    fn what_happens_ends_the_silence() {
        let most = looked(LOOKS - 1, 7, false, QuietPeriod::since(7));
        let after = looked(1, 8, false, most);
        assert!(!looked(LOOKS - 1, 8, false, after).is_rest());
        assert!(looked(LOOKS, 8, false, after).is_rest());
    }

    /// A shell with a group of its own, which ends with it.
    struct Shell(Child);

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = killpg(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGKILL);
            let _ = self.0.wait();
        }
    }

    fn until_it(wants: bool, shell: &Shell) -> bool {
        let pid = Pid::from_raw(shell.0.id().cast_signed());
        let begun = std::time::Instant::now();
        while wants_to_run(pid) != wants {
            if begun.elapsed() > Duration::from_secs(20) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    #[test]
    fn who_turns_wants_to_run_and_who_reads_does_not() {
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            Shell(command.spawn().unwrap())
        };
        // One that waits for a child is at work when the child is.
        let mut turning = shell("(read a; while [ -z \"$b\" ]; do :; done); true");
        assert!(until_it(false, &turning), "no process turns yet");
        std::io::Write::write_all(&mut turning.0.stdin.as_mut().unwrap(), b"go\n").unwrap();
        assert!(until_it(true, &turning), "the child turns");
    }
}
