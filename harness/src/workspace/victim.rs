//! The victim: a process of the harness that an act may try to touch. It counts what it feels.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};

use crate::sys;

/// The hidden verb under which the program is a victim.
pub const VERB: &str = "__victim";

/// The victim's answer to a query; no signal has this number.
const ANSWER: u8 = u8::MAX;
/// The deadline of a victim's answer, in milliseconds.
const PATIENCE_MS: u16 = 10_000;

/// A running victim. Dropping it ends it.
#[derive(Debug)]
pub struct RunningVictim {
    child: Child,
    log: std::process::ChildStdout,
    felt: Vec<u8>,
}

impl RunningVictim {
    /// Starts one whose command line carries `nonce`; it is ready when this returns.
    ///
    /// # Errors
    /// Returns an error when it cannot be started or does not get ready.
    pub fn start(program: &Path, nonce: &str) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let mut child = Command::new(program)
            .arg0("boxproof")
            .args([VERB, nonce])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let Some(mut log) = child.stdout.take() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        log.read_exact(&mut [0; 1])?;
        fcntl(log.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let victim = Self { child, log, felt: Vec::new() };
        victim.wait_until_asleep();
        Ok(victim)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns in words what it felt so far, empty if nothing; and whether it still runs.
    pub fn felt(&mut self) -> (Vec<String>, bool) {
        // Anything it was told to write has been written by now, or it is still going to: ask.
        let _ = self.child.stdin.as_mut().map(|stdin| stdin.write_all(b"?"));
        let answered = self.read_answer();
        let words = self.felt.iter().map(|number| match number {
            0 => "a stop or a tracer".to_owned(),
            number => Signal::try_from(i32::from(*number))
                .map_or_else(|_| format!("signal {number}"), |signal| signal.to_string()),
        });
        let mut words: Vec<String> = words.collect();
        let runs = matches!(self.child.try_wait(), Ok(None));
        if runs && !answered {
            // Held where it is: a stop that was not ended, or a tracer that is still there.
            words.push("something that keeps it from answering".to_owned());
        }
        (words, runs)
    }

    /// Reads up to the answer to our question, or to the end; returns whether there was an answer.
    fn read_answer(&mut self) -> bool {
        let mut byte = [0; 1];
        loop {
            match self.log.read(&mut byte) {
                Ok(0) => {
                    // It is about to be dead, if it is not yet.
                    sys::reap(&mut self.child);
                    return false;
                }
                Ok(_) if byte[0] == ANSWER => return true,
                Ok(_) => self.felt.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut ready = [PollFd::new(self.log.as_fd(), PollFlags::POLLIN)];
                    if !matches!(poll(&mut ready, self.patience()), Ok(1..)) {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
    }
}

impl RunningVictim {
    /// Waits until it sleeps: only there a tracer wakes it.
    fn wait_until_asleep(&self) {
        let until = Instant::now() + Duration::from_millis(PATIENCE_MS.into());
        while self.state() == Some('R') && Instant::now() < until {
            std::thread::yield_now();
        }
    }

    /// The kernel's letter for what it does.
    fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    /// Returns the time to wait: none for a victim that is stopped, as it will not answer; much for
    /// one that must be scheduled.
    fn patience(&self) -> PollTimeout {
        match self.state() {
            Some('T' | 't') => PollTimeout::ZERO,
            _ => PollTimeout::from(PATIENCE_MS),
        }
    }
}

impl Drop for RunningVictim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        sys::reap(&mut self.child);
    }
}

/// A victim's life: it writes each signal's number (0 for a stop or a tracer), answers each
/// question, and ends with its standard input.
pub fn serve() -> i32 {
    let all = SigSet::all();
    if sigprocmask(SigmaskHow::SIG_BLOCK, Some(&all), None).is_err() {
        return 1;
    }
    feel(&all).map_or(1, |()| 0)
}

/// Feels, reports and answers until its stdin is closed.
#[cfg(target_os = "linux")]
fn feel(all: &SigSet) -> nix::Result<()> {
    use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
    use nix::sys::signalfd::{SfdFlags, SignalFd};

    let signals = SignalFd::with_flags(all, SfdFlags::SFD_NONBLOCK)?;
    let stdin = io::stdin();
    // Unlike poll, epoll_wait is not restarted after a stop: a stop or a tracer wakes us.
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    epoll.add(&stdin, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
    epoll.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, 1))?;
    tell(b'!')?;
    loop {
        match epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE) {
            Err(Errno::EINTR) => tell(0)?,
            Err(errno) => return Err(errno),
            Ok(_) => {}
        }
        // Signals first: an answer stands for everything felt before the question.
        while let Some(signal) = signals.read_signal()? {
            tell(u8::try_from(signal.ssi_signo).unwrap_or(ANSWER - 1))?;
        }
        let mut asked = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        if poll(&mut asked, PollTimeout::ZERO)? > 0 {
            match nix::unistd::read(stdin.as_fd(), &mut [0; 1])? {
                0 => return Ok(()),
                _ => tell(ANSWER)?,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn feel(_all: &SigSet) -> nix::Result<()> {
    Err(Errno::ENOTSUP)
}

#[cfg(target_os = "linux")]
fn tell(byte: u8) -> nix::Result<()> {
    nix::unistd::write(io::stdout(), &[byte]).map(drop)
}
