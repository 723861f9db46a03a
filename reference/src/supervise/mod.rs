//! Runs one helper to its end: one loop over descriptors, no polling ([`supervise`]).
//!
//! TERM, INT and HUP are passed on to the command itself; then a grace, then KILL to everything.

mod streams;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use boxproof_cases::protocol::ErrorKind;

use crate::control::{self, Failed, Order, Report};
use crate::error::Refusal;
use crate::mechanism::Running;
use crate::sys;

pub(crate) use streams::{Captured, Ours, plumb};

/// Time a command has between TERM and KILL.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Signals to us that end the run.
const ENDING: [Signal; 3] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];

/// Everything that was observed of one run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Whether the command was executed.
    pub(crate) started: bool,
    /// Why it could not be executed: what was being done, and the errno.
    pub(crate) failed: Option<(Failed, i32)>,
    /// How the command ended: [`Report::Exited`] or [`Report::Signalled`].
    pub(crate) ended: Option<Report>,
    /// Whether its time was up.
    pub(crate) timed_out: bool,
    /// The signal to us that ended the run.
    pub(crate) interrupted_by: Option<Signal>,
    /// How the helper ended.
    pub(crate) helper: ExitStatus,
    /// What the helper itself said.
    pub(crate) said: String,
    /// From spawn to return.
    pub(crate) took: Duration,
    /// What was captured.
    pub(crate) captured: Option<Captured>,
    /// Why the command's stdin could not be written.
    pub(crate) stdin_error: Option<io::Error>,
    /// Why we stopped following the run and killed it.
    pub(crate) broken: Option<io::Error>,
}

/// Has the helper started, sees it to its end, and returns when nothing of it is left.
pub(crate) fn supervise(
    start: impl FnOnce() -> Result<Running, Refusal>,
    control: OwnedFd,
    streams: Ours,
    timeout: Option<Duration>,
) -> Result<Outcome, Refusal> {
    let begun = Instant::now();
    let (signals, clock) = instruments().map_err(|error| failed(&error))?;
    let Running { pid, process, said, namespaced } = start()?;
    let supervisor = Supervisor {
        namespaced,
        helper: process,
        inner: None,
        control: Some(control),
        signals,
        clock,
        streams,
        seen: Seen::default(),
    };
    conclude(supervisor, pid, said, timeout, begun).map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Refusal {
    Refusal::new(ErrorKind::Wait, format!("supervising failed: {error}"))
}

/// Signals and time as descriptors.
fn instruments() -> io::Result<(SignalFd, TimerFd)> {
    sys::default_action(Signal::SIGCHLD)?;
    let mask: SigSet = ENDING.into_iter().collect();
    mask.thread_block()?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    Ok((signals, TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?))
}

fn conclude(
    mut supervisor: Supervisor,
    pid: Pid,
    said: Option<File>,
    timeout: Option<Duration>,
    begun: Instant,
) -> io::Result<Outcome> {
    if let Some(timeout) = timeout {
        supervisor.arm(timeout)?;
    }
    let broken = supervisor.follow();
    let helper = supervisor.bury(pid)?;
    let Supervisor { seen, streams, .. } = supervisor;
    let (captured, stdin_error) = streams.finish()?;
    Ok(Outcome {
        started: seen.started,
        failed: seen.failed,
        ended: seen.ended,
        timed_out: seen.timed_out,
        interrupted_by: seen.interrupted_by,
        helper,
        said: said.map_or(Ok(String::new()), text)?,
        took: begun.elapsed(),
        captured,
        stdin_error,
        broken,
    })
}

fn text(mut file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Seen {
    started: bool,
    failed: Option<(Failed, i32)>,
    ended: Option<Report>,
    timed_out: bool,
    interrupted_by: Option<Signal>,
}

struct Supervisor {
    /// Whether the inner stage's death ends everything.
    namespaced: bool,
    helper: OwnedFd,
    /// The inner stage, once it said hello.
    inner: Option<OwnedFd>,
    /// Open as long as the inner stage, or what leads to it, lives.
    control: Option<OwnedFd>,
    signals: SignalFd,
    clock: TimerFd,
    streams: Ours,
    seen: Seen,
}

impl Supervisor {
    /// Follows the run to its end; if that fails, ends it and says why.
    fn follow(&mut self) -> Option<io::Error> {
        while self.control.is_some() {
            if let Err(error) = self.step() {
                let killed = self.kill();
                self.control = None;
                return Some(killed.err().unwrap_or(error));
            }
        }
        None
    }

    /// Waits for something to happen and deals with it.
    ///
    /// A signal is heeded before an exit seen at the same time, an exit before a timeout.
    fn step(&mut self) -> io::Result<()> {
        let [signal, report, time] = self.wait()?;
        if signal {
            self.interrupted()?;
        }
        if report {
            self.hear()?;
        }
        if time && self.seen.ended.is_none() {
            self.time_is_up()?;
        }
        self.streams.serve()
    }

    fn wait(&self) -> io::Result<[bool; 3]> {
        let Some(control) = &self.control else { return Ok([false; 3]) };
        let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut polled = vec![
            readable(self.signals.as_fd()),
            readable(control.as_fd()),
            readable(self.clock.as_fd()),
        ];
        polled.extend(self.streams.polled());
        match poll(&mut polled, PollTimeout::NONE) {
            Err(Errno::EINTR) => return Ok([false; 3]),
            other => other?,
        };
        Ok([0, 1, 2].map(|index| polled[index].any().unwrap_or(true)))
    }

    fn arm(&self, after: Duration) -> io::Result<()> {
        // Zero would disarm the timer.
        let after = TimeSpec::from_duration(after.max(Duration::from_nanos(1)));
        Ok(self.clock.set(Expiration::OneShot(after), TimerSetTimeFlags::empty())?)
    }

    fn order(&self, order: Order) -> io::Result<()> {
        self.control.as_ref().map_or(Ok(()), |control| control::post(control, order.encode()))
    }

    fn is_ending(&self) -> bool {
        self.seen.timed_out || self.seen.interrupted_by.is_some()
    }

    fn interrupted(&mut self) -> io::Result<()> {
        while let Some(info) = self.signals.read_signal()? {
            let signal = Signal::try_from(info.ssi_signo as i32)?;
            self.order(Order::Signal(signal as i32))?;
            if !self.is_ending() {
                self.seen.interrupted_by = Some(signal);
                self.arm(GRACE)?;
            }
        }
        Ok(())
    }

    fn time_is_up(&mut self) -> io::Result<()> {
        self.clock.wait()?;
        if self.is_ending() {
            return self.kill();
        }
        self.seen.timed_out = true;
        self.order(Order::Signal(Signal::SIGTERM as i32))?;
        self.arm(GRACE)
    }

    fn kill(&self) -> io::Result<()> {
        match (&self.inner, self.namespaced) {
            (Some(init), true) => sys::pidfd_signal(init, libc::SIGKILL),
            (None, true) => sys::pidfd_signal(&self.helper, libc::SIGKILL),
            // It must live to find and kill what the command left; a stop would hold it up.
            (_, false) => {
                self.order(Order::Kill)?;
                sys::pidfd_signal(&self.helper, libc::SIGCONT)
            }
        }
    }

    /// Takes in one report, or learns that there will be no more.
    fn hear(&mut self) -> io::Result<()> {
        let Some(control) = &self.control else { return Ok(()) };
        let Some((report, process)) = control::next_report(control)? else {
            self.control = None;
            return Ok(());
        };
        match report {
            Report::Hello => self.inner = process,
            Report::Started => self.seen.started = true,
            Report::Failed(what, errno) => self.seen.failed = Some((what, errno)),
            Report::Exited(_) | Report::Signalled(_) => self.seen.ended = Some(report),
        }
        Ok(())
    }

    /// Waits until the helper and the inner stage, and with it the namespace, are dead.
    fn bury(&mut self, child: Pid) -> io::Result<ExitStatus> {
        let status = reap(child)?;
        if let Some(inner) = &self.inner {
            let mut polled = [PollFd::new(inner.as_fd(), PollFlags::POLLIN)];
            while let Err(errno) = poll(&mut polled, PollTimeout::NONE) {
                if errno != Errno::EINTR {
                    return Err(errno.into());
                }
            }
        }
        Ok(status)
    }
}

/// Waits for `child`'s death.
fn reap(child: Pid) -> io::Result<ExitStatus> {
    loop {
        match waitpid(child, None) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(WaitStatus::Exited(_, code)) => return Ok(ExitStatus::from_raw(code << 8)),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            Ok(_) => {}
        }
    }
}
