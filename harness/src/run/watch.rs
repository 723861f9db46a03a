//! Watching children: one loop that feeds, drains, times and reaps any number of them, while the
//! listeners of the arm are served. Woken by the kernel, never by a clock of its own.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use boxproof_cases::case::{During, Moment, Stimulus, StopTarget, Target};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::backend::Stop;
use crate::execution::Exit;
use crate::sys;
use crate::workspace::Listeners;

/// The most bytes of a stream that are kept; the rest is read and dropped, so nobody blocks.
const KEEP: usize = 16 << 20;
/// How many reads of 64 KiB empty a pipe of the largest size an ordinary user can make, 1 MiB.
const READS: usize = 16;
/// How often a child is looked at where the kernel cannot wake us, in milliseconds.
const NO_WATCH_MS: u16 = 5;

/// A child under watch.
#[derive(Debug)]
pub(super) struct Watched {
    child: Child,
    exit_watch: Option<OwnedFd>,
    stdin: Option<ChildStdin>,
    feed: Vec<u8>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    deadline: Instant,
    /// How it is ended when its time is up; gone once that has begun.
    stop: Option<(Signal, StopTarget, Duration)>,
    /// Whether its time is up.
    overdue: bool,
    nonce: String,
    /// What is sent to whom, once the probe is ready.
    during: Vec<(Signal, StopTarget)>,
    /// What it wrote to stdout.
    pub(super) out: Vec<u8>,
    /// What it wrote to stderr.
    pub(super) err: Vec<u8>,
    /// How it ended, once it has.
    pub(super) exit: Option<Exit>,
}

impl Watched {
    /// Takes over `child`, whose three streams are pipes (stdin at will), and feeds it `feed`.
    ///
    /// # Errors
    /// When a pipe cannot be made non-blocking, or a signal of `during` does not exist.
    pub(super) fn new(
        mut child: Child,
        feed: Vec<u8>,
        timeout: Duration,
        nonce: &str,
        during: &[During],
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
            feed,
            stdout,
            stderr,
            deadline: Instant::now() + timeout,
            stop: None,
            overdue: false,
            nonce: nonce.to_owned(),
            during: during.iter().map(stimulus).collect::<io::Result<_>>()?,
            out: Vec::new(),
            err: Vec::new(),
            exit: None,
        })
    }

    /// It is ended as `stop` says when its time is up; without this it is killed at once.
    ///
    /// # Errors
    /// A signal that does not exist.
    pub(super) fn stop_by(&mut self, stop: &Stop) -> io::Result<()> {
        let grace = Duration::from_millis(stop.grace_ms);
        self.stop = Some((signal_named(&stop.signal)?, stop.to, grace));
        Ok(())
    }

    /// Its process id.
    pub(super) fn pid(&self) -> Pid {
        pid_of(&self.child)
    }

    fn running(&self) -> bool {
        self.exit.is_none()
    }

    fn interests(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let read = PollFlags::POLLIN;
        [
            self.exit_watch.as_ref().map(|fd| (fd.as_fd(), read)),
            self.stdout.as_ref().map(|fd| (fd.as_fd(), read)),
            self.stderr.as_ref().map(|fd| (fd.as_fd(), read)),
            self.stdin.as_ref().map(|fd| (fd.as_fd(), PollFlags::POLLOUT)),
        ]
        .into_iter()
        .flatten()
    }

    /// Does everything that can be done without waiting.
    fn step(&mut self) {
        self.write();
        drain(&mut self.stdout, &mut self.out);
        drain(&mut self.stderr, &mut self.err);
        self.act_when_ready();
        if let Ok(Some(status)) = self.child.try_wait() {
            // What it wrote is in the pipes by now; who else holds them open is not waited for.
            drain(&mut self.stdout, &mut self.out);
            drain(&mut self.stderr, &mut self.err);
            if self.overdue {
                // It went in time, but perhaps not with all its group.
                return self.give_up();
            }
            self.exit = Some(exit_of(status));
        } else if Instant::now() >= self.deadline {
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
        self.stdin = None;
    }

    fn act_when_ready(&mut self) {
        if self.during.is_empty() {
            return;
        }
        let both = [&self.out, &self.err];
        if !both.iter().any(|text| !boxproof_probes::events(&self.nonce, text).is_empty()) {
            return;
        }
        for (signal, to) in std::mem::take(&mut self.during) {
            send(self.pid(), signal, to);
        }
    }

    /// Its time is up: first as the backend wants to be ended, then by force.
    fn run_out(&mut self) {
        let Some((signal, to, grace)) = self.stop.take() else { return self.give_up() };
        self.overdue = true;
        self.deadline = Instant::now() + grace;
        send(self.pid(), signal, to);
    }

    fn give_up(&mut self) {
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.exit = Some(Exit::TimedOut);
    }
}

fn signal_named(name: &str) -> io::Result<Signal> {
    let signal = format!("SIG{name}").parse::<Signal>();
    signal.map_err(|_| io::Error::other(format!("no signal {name}")))
}

/// ESRCH means it is over already, which the exit will tell.
fn send(pid: Pid, signal: Signal, to: StopTarget) {
    let _ = match to {
        StopTarget::Backend => kill(pid, signal),
        StopTarget::Group => killpg(pid, signal),
    };
}

fn stimulus(during: &During) -> io::Result<(Signal, StopTarget)> {
    let unknown = || io::Error::other(format!("cannot do this yet: {during:?}"));
    match (&during.when, during.after_ms, &during.what) {
        (Moment::Ready, 0, Stimulus::Signal(name, Target::Backend)) => {
            Ok((signal_named(name)?, StopTarget::Backend))
        }
        (Moment::Ready, 0, Stimulus::Signal(name, Target::Group)) => {
            Ok((signal_named(name)?, StopTarget::Group))
        }
        _ => Err(unknown()),
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

fn exit_of(status: std::process::ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

/// Reads what is there, but at most what fits into the largest pipe, so that a writer who never
/// pauses keeps nobody from the clock; a pipe at its end is closed.
fn drain<R: Read>(pipe: &mut Option<R>, into: &mut Vec<u8>) {
    let mut buffer = [0; 64 << 10];
    for _ in 0..READS {
        let Some(open) = pipe else { return };
        match open.read(&mut buffer) {
            Ok(0) => *pipe = None,
            Ok(n) => into.extend_from_slice(&buffer[..n.min(KEEP.saturating_sub(into.len()))]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => *pipe = None,
        }
    }
}

/// Whether the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verge {
    /// All children have ended.
    Done,
    /// Whoever asked for this arm is gone; the children were killed.
    Abandoned,
}

/// Watches `children` until all have ended, serving `listeners`, and gives up at once when
/// `boss` hangs up.
///
/// # Errors
/// The errno of poll(2).
pub(super) fn watch(
    children: &mut [Watched],
    listeners: &mut Listeners,
    boss: Option<BorrowedFd<'_>>,
) -> io::Result<Verge> {
    loop {
        for child in children.iter_mut().filter(|child| child.running()) {
            child.step();
        }
        listeners.collect();
        if children.iter().all(|child| !child.running()) {
            return Ok(Verge::Done);
        }
        if wait(children, listeners, boss)? == Verge::Abandoned {
            children.iter_mut().filter(|child| child.running()).for_each(Watched::give_up);
            return Ok(Verge::Abandoned);
        }
    }
}

/// Sleeps until there is something to do. `Abandoned` when `boss` has hung up.
fn wait(
    children: &[Watched],
    listeners: &Listeners,
    boss: Option<BorrowedFd<'_>>,
) -> io::Result<Verge> {
    let running = || children.iter().filter(|child| child.running());
    let mut set: Vec<PollFd<'_>> =
        boss.map(|fd| PollFd::new(fd, PollFlags::POLLHUP)).into_iter().collect();
    set.extend(listeners.descriptors().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    set.extend(running().flat_map(Watched::interests).map(|(fd, flags)| PollFd::new(fd, flags)));
    let until = running().map(|child| child.deadline).min().unwrap_or_else(Instant::now);
    match poll(&mut set, timeout(until, running().any(|child| child.exit_watch.is_none()))) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let hung_up =
        boss.is_some() && set[0].revents().is_some_and(|r| r.contains(PollFlags::POLLHUP));
    Ok(if hung_up { Verge::Abandoned } else { Verge::Done })
}

fn timeout(until: Instant, unwatched: bool) -> PollTimeout {
    if unwatched {
        return PollTimeout::from(NO_WATCH_MS);
    }
    // Rounded up: waking a moment early would only mean waking twice.
    let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
