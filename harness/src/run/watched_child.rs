//! One child under watch: its streams, its clock, the events applied to it, and its end.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use boxproof_cases::case::{
    BackendStimulus, DuringEvent, Moment, OutStream, SignalTarget, StopTarget,
};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::moments::{EventScript, MarkerScanner, MomentFiles, MomentLog};
use crate::backend::StopMethod;
use crate::execution::{MomentStamp, ProcessExit};
use crate::sys::{self, table};
use crate::workspace::ArmTerminal;

/// The most bytes of a stream that are kept; the rest is read and dropped, so that no writer
/// blocks. The runs of an arm share them.
pub(super) const KEEP: usize = 16 << 20;
/// The least number of bytes that each run keeps.
pub(super) const KEEP_AT_LEAST: usize = 64 << 10;
/// The number of reads of 64 KiB that empty a pipe of the largest size an ordinary user can make, 1
/// MiB.
const READS: usize = 16;
/// The time for which a backend may outlive the launcher that was killed before it counts as left
/// behind: the grace of 5 s, and a bit.
pub(super) const ALONE: Duration = Duration::from_millis(6_500);

/// The number of generations of processes that are followed.
const GENERATIONS: usize = 64;

/// The terms on which a child is watched.
#[derive(Debug)]
pub(super) struct WatchTerms<'a> {
    /// The most bytes of each of its streams that are kept.
    pub(super) keep: usize,
    /// The bytes that are written to its stdin.
    pub(super) feed: Vec<u8>,
    /// True if its stdin stays open after that.
    pub(super) hold_stdin: bool,
    /// The time after which it is given up, from its start.
    pub(super) timeout: Duration,
    /// The word under which its act speaks.
    pub(super) nonce: &'a str,
    /// The events that are applied to it.
    pub(super) during: &'a [DuringEvent],
    /// True if the act's announcements matter before the end.
    pub(super) listens: bool,
    /// Files whose being there is a moment.
    pub(super) files: MomentFiles,
    /// True if it is a launcher that starts the backend as its only child.
    pub(super) apart: bool,
    /// The time for which the backend may outlive that launcher.
    pub(super) alone: Duration,
}

/// A child under watch.
#[derive(Debug)]
pub(super) struct WatchedChild {
    pub(super) child: Child,
    exit_watch: Option<OwnedFd>,
    pub(super) stdin: Option<ChildStdin>,
    keep: usize,
    pub(super) feed: Vec<u8>,
    hold_stdin: bool,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    deadline: Instant,
    /// The signal, target and grace by which it is ended when its time is up; `None` once that has
    /// begun.
    stop: Option<(Signal, StopTarget, Duration)>,
    /// True once its time is up.
    overdue: bool,
    /// True if a process of it stood still when its time was up.
    pub(super) stopped: bool,
    started: Instant,
    nonce: String,
    log: MomentLog,
    script: EventScript,
    files: MomentFiles,
    listens: bool,
    /// The positions up to which stdout, stderr and the terminal were read for announcements.
    ears: [MarkerScanner; 3],
    apart: bool,
    alone: Duration,
    /// The backend, where a launcher of its own starts it.
    backend: Option<OutsideBackend>,
    /// The exit of the launcher, while its backend lives on.
    left_alone: Option<ProcessExit>,
    /// The bytes it wrote to stdout.
    pub(super) out: Vec<u8>,
    /// The bytes it wrote to stderr.
    pub(super) err: Vec<u8>,
    /// The exit of the child, once it has ended.
    pub(super) exit: Option<ProcessExit>,
    ended: Option<Instant>,
}

/// A backend that is not our own child.
#[derive(Debug)]
struct OutsideBackend {
    pid: Pid,
    watch: Option<OwnedFd>,
}

impl WatchedChild {
    /// Takes over `child`, started at `started`, whose streams are pipes or inherited.
    ///
    /// # Errors
    /// The errno of a pipe that cannot be made non-blocking.
    pub(super) fn new(
        mut child: Child,
        started: Instant,
        terms: WatchTerms<'_>,
    ) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pipes = [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ];
        for pipe in pipes.into_iter().flatten() {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self {
            exit_watch: sys::exit_watch(pid_of(&child)),
            child,
            stdin,
            keep: terms.keep,
            feed: terms.feed,
            hold_stdin: terms.hold_stdin,
            stdout,
            stderr,
            deadline: started + terms.timeout,
            stop: None,
            overdue: false,
            stopped: false,
            started,
            nonce: terms.nonce.to_owned(),
            log: MomentLog::new(started),
            script: EventScript::new(terms.during),
            files: terms.files,
            listens: terms.listens,
            ears: Default::default(),
            apart: terms.apart,
            alone: terms.alone,
            backend: None,
            left_alone: None,
            out: Vec::new(),
            err: Vec::new(),
            exit: None,
            ended: None,
        })
    }

    /// Sets how the child is ended when its time is up; without this it is killed at once.
    ///
    /// # Errors
    /// A signal that does not exist.
    pub(super) fn stop_by(&mut self, stop: &StopMethod) -> io::Result<()> {
        let grace = Duration::from_millis(stop.grace_ms);
        self.stop = Some((signal_named(&stop.signal)?, stop.to, grace));
        Ok(())
    }

    /// Its process id.
    pub(super) fn pid(&self) -> Pid {
        pid_of(&self.child)
    }

    pub(super) fn running(&self) -> bool {
        self.exit.is_none()
    }

    /// Returns whether the kernel cannot wake us when the child ends.
    pub(super) fn has_no_watch(&self) -> bool {
        self.exit_watch.is_none()
    }

    /// The moments it had.
    pub(super) fn stamps(&self) -> Vec<MomentStamp> {
        self.log.stamps()
    }

    /// Returns the milliseconds from its start to the end of the watch.
    pub(super) fn watched_ms(&self) -> f64 {
        let until = self.ended.unwrap_or_else(Instant::now);
        until.saturating_duration_since(self.started).as_secs_f64() * 1000.0
    }

    /// Returns the time by which the child has to be polled again.
    pub(super) fn due(&self) -> Instant {
        self.script.due(&self.log).map_or(self.deadline, |due| due.min(self.deadline))
    }

    pub(super) fn interests(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let read = PollFlags::POLLIN;
        let wants_feed = self.stdin.as_ref().filter(|_| !self.feed.is_empty() || !self.hold_stdin);
        let backend = self.backend.as_ref().and_then(|backend| backend.watch.as_ref());
        let exit = if self.left_alone.is_some() { backend } else { self.exit_watch.as_ref() };
        [
            exit.map(|fd| (fd.as_fd(), read)),
            self.stdout.as_ref().map(|fd| (fd.as_fd(), read)),
            self.stderr.as_ref().map(|fd| (fd.as_fd(), read)),
            self.files.descriptor().map(|fd| (fd, read)),
            wants_feed.map(|fd| (fd.as_fd(), PollFlags::POLLOUT)),
        ]
        .into_iter()
        .flatten()
    }

    /// Does everything that can be done without waiting.
    pub(super) fn step(&mut self, mut terminal: Option<&mut ArmTerminal>) {
        self.write();
        self.read(terminal.as_deref());
        self.files.note_present_files(&mut self.log);
        self.find_backend();
        while let Some((number, what)) = self.script.next(&self.log) {
            // Before it is done: its effects come after.
            self.log.note(Moment::During(number));
            self.act(what, terminal.as_deref_mut());
        }
        if !self.look_for_end(terminal.as_deref()) && Instant::now() >= self.deadline {
            self.run_out();
        }
    }

    fn write(&mut self) {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.feed.is_empty()) {
            match stdin.write(&self.feed) {
                Ok(n) => drop(self.feed.drain(..n)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A command that does not read its stdin is within its rights.
                Err(_) => self.feed.clear(),
            }
        }
        if !self.hold_stdin {
            self.stdin = None;
        }
    }

    /// Takes what was written, and notes what is announced in it.
    fn read(&mut self, terminal: Option<&ArmTerminal>) {
        drain(&mut self.stdout, &mut self.out, self.keep);
        drain(&mut self.stderr, &mut self.err, self.keep);
        if self.listens {
            let shown = terminal.map(ArmTerminal::shown).unwrap_or_default();
            for (ear, bytes) in self.ears.iter_mut().zip([&self.out, &self.err, shown]) {
                ear.scan_markers(&self.nonce, bytes, &mut self.log);
            }
        }
    }

    /// A launcher's only child is the backend.
    fn find_backend(&mut self) {
        if self.apart && self.backend.is_none() {
            let pid = sys::children_of(self.pid()).first().copied();
            self.backend = pid.map(|pid| OutsideBackend { pid, watch: sys::exit_watch(pid) });
        }
    }

    /// Applies one event. A failure shows by the missing effect.
    fn act(&mut self, what: BackendStimulus, terminal: Option<&mut ArmTerminal>) {
        match (what, terminal) {
            (BackendStimulus::Signal(name, to), _) => self.signal(&name, to),
            (BackendStimulus::Close(OutStream::Stdout), _) => self.stdout = None,
            (BackendStimulus::Close(OutStream::Stderr), _) => self.stderr = None,
            (BackendStimulus::HangUp, Some(terminal)) => terminal.hang_up(),
            (BackendStimulus::Type(text), Some(terminal)) => drop(terminal.type_in(&text)),
            (BackendStimulus::Resize(size), Some(terminal)) => drop(terminal.resize(size)),
            // A case with such an event has a terminal, or it does not load.
            (_, None) => {}
        }
    }

    fn signal(&self, name: &str, to: SignalTarget) {
        let Ok(signal) = signal_named(name) else { return };
        let backend = match (&self.backend, self.apart) {
            (Some(backend), true) => backend.pid,
            // There is none yet.
            (None, true) => return,
            (_, false) => self.pid(),
        };
        match to {
            SignalTarget::Backend => send(backend, signal, StopTarget::Backend),
            SignalTarget::Group => send(backend, signal, StopTarget::Group),
            SignalTarget::Launcher => send(self.pid(), signal, StopTarget::Backend),
        }
    }

    /// Returns whether the child has ended, even if its backend lives on.
    fn look_for_end(&mut self, terminal: Option<&ArmTerminal>) -> bool {
        if self.left_alone.is_some() {
            return self.look_for_backend();
        }
        let Ok(Some(status)) = self.child.try_wait() else { return false };
        // All that it wrote is in the pipes by now; other processes that hold them open are not
        // waited for.
        self.read(terminal);
        if self.overdue {
            // It went in time, but perhaps not with all its group.
            self.give_up();
        } else if self.backend.as_ref().is_some_and(|backend| is_alive(backend.pid)) {
            self.left_alone = Some(exit_of(status));
            self.deadline = self.deadline.min(Instant::now() + self.alone);
        } else {
            self.end(exit_of(status));
        }
        true
    }

    /// A backend whose launcher is gone is ours, and ours to reap.
    fn look_for_backend(&mut self) -> bool {
        let gone = self.backend.as_ref().is_none_or(|backend| !is_alive(backend.pid));
        if gone || Instant::now() >= self.deadline {
            let exit = self.left_alone.take().unwrap_or(ProcessExit::TimedOut);
            self.end(exit);
        }
        true
    }

    fn end(&mut self, exit: ProcessExit) {
        self.log.note(Moment::Exit);
        self.ended = Some(Instant::now());
        self.exit = Some(exit);
    }

    /// Its time is up: first as the backend wants to be ended, then by force.
    fn run_out(&mut self) {
        self.stopped |= is_stopped_below(self.pid());
        let Some((signal, to, grace)) = self.stop.take() else { return self.give_up() };
        self.overdue = true;
        self.ended = Some(Instant::now());
        self.deadline = Instant::now() + grace;
        let target = self.backend.as_ref().map_or(self.pid(), |backend| backend.pid);
        send(target, signal, to);
    }

    pub(super) fn give_up(&mut self) {
        if let Some(backend) = &self.backend {
            let _ = killpg(backend.pid, Signal::SIGKILL);
            let _ = kill(backend.pid, Signal::SIGKILL);
        }
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.child.kill();
        // The sweep after the arm reaps one that a tracer holds, when it has killed that.
        sys::reap(&mut self.child);
        self.ended.get_or_insert_with(Instant::now);
        self.exit = Some(ProcessExit::TimedOut);
    }
}

/// Returns whether a signal has stopped `root`, or a process that it or one of its children started.
fn is_stopped_below(root: Pid) -> bool {
    let stopped = table::processes().into_iter().filter(|pid| table::is_stopped(*pid));
    let is_below = |pid: Pid| {
        let parent = |pid: &Pid| table::origin(*pid).map(|origin| origin.parent);
        std::iter::successors(Some(pid), parent).take(GENERATIONS).any(|pid| pid == root)
    };
    stopped.into_iter().any(is_below)
}

fn signal_named(name: &str) -> io::Result<Signal> {
    let signal = format!("SIG{name}").parse::<Signal>();
    signal.map_err(|_| io::Error::other(format!("no signal {name}")))
}

/// Sends `signal`. ESRCH means that the process is over already, which its exit will show.
fn send(pid: Pid, signal: Signal, to: StopTarget) {
    let _ = match to {
        StopTarget::Backend => kill(pid, signal),
        StopTarget::Group => killpg(pid, signal),
    };
}

/// Returns whether `pid`, a child of ours or of a child, is there and not dead.
fn is_alive(pid: Pid) -> bool {
    match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::StillAlive) => true,
        Ok(_) => false,
        // Not ours (yet): its parent has not ended, or has reaped it.
        Err(_) => kill(pid, None).is_ok(),
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

fn exit_of(status: std::process::ExitStatus) -> ProcessExit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, signal) => ProcessExit::Signal(signal.unwrap_or_default()),
    }
}

/// Reads what is there, but at most what fits into the largest pipe, so that a writer that never
/// pauses does not hold up the deadlines; a pipe at its end is closed.
pub(super) fn drain<R: Read>(pipe: &mut Option<R>, into: &mut Vec<u8>, keep: usize) {
    let mut buffer = [0; 64 << 10];
    for _ in 0..READS {
        let Some(open) = pipe else { return };
        match open.read(&mut buffer) {
            Ok(0) => *pipe = None,
            Ok(n) => into.extend_from_slice(&buffer[..n.min(keep.saturating_sub(into.len()))]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => *pipe = None,
        }
    }
}
