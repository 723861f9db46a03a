//! The command and its process group: follows them to their end and signals them as ordered.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use crate::control::{self, Order, Report};
use crate::sys::{self, Child};

/// What is known of the command's group.
pub(super) struct Group {
    /// The command, which leads it.
    leader: Pid,
    /// Whether the leader is reaped.
    has_ended: bool,
    /// Whether a signal that ends it was passed on: then its members have a grace.
    is_ending: bool,
}

impl Group {
    pub(super) fn led_by(leader: Pid) -> Self {
        Self { leader, has_ended: false, is_ending: false }
    }

    /// Follows orders and reports the command's end; returns when everything is to be killed.
    pub(super) fn follow(mut self, children: &SignalFd, control: &OwnedFd) -> io::Result<()> {
        while !self.is_over()? {
            let [ended, ordered] = wait(children, control)?;
            if ended {
                while children.read_signal()?.is_some() {}
            }
            // Also before an order, which must not be called passed on if it came too late.
            if let Some(report) = self.reap()? {
                control::post(control, report.encode())?;
            }
            if ordered && !self.obey(control::next_order(control)?, control)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether nobody is left who has a grace. Members that nobody reaps do not count: dead ones
    /// whose parent is gone were reaped by us, and others are no children of ours.
    fn is_over(&self) -> io::Result<bool> {
        if !self.has_ended || !self.is_ending {
            return Ok(self.has_ended);
        }
        Ok(!sys::has_child(Some(self.leader))?)
    }

    /// Whether to go on after `order`; `None`: the supervisor is gone.
    fn obey(&mut self, order: Option<Order>, control: &OwnedFd) -> io::Result<bool> {
        let Some(Order::Signal(number)) = order else { return Ok(false) };
        match Signal::try_from(number)? {
            Signal::SIGTSTP => self.send(self.stop_signal()),
            Signal::SIGCONT => self.send(Signal::SIGCONT),
            ending => {
                if !self.has_ended {
                    self.is_ending = true;
                    control::post(control, Report::Passed.encode())?;
                }
                self.send(ending);
                // One that is stopped has to run to heed it.
                self.send(Signal::SIGCONT);
            }
        }
        Ok(true)
    }

    /// Signals the group. Its number is its own: the leader is not reaped, or members of it are
    /// left, or else [`Self::is_over`] has ended this.
    fn send(&self, signal: Signal) {
        // A group that has just ended is no failure: its report follows.
        let _gone = killpg(self.leader, signal);
    }

    /// In a session without a terminal the kernel ignores SIGTSTP for who does not handle it, so
    /// only a command that handles or ignores it gets that one.
    fn stop_signal(&self) -> Signal {
        let status = fs::read_to_string(format!("/proc/{}/status", self.leader));
        let cares = |name: &str| {
            let set = status.as_ref().ok()?.lines().find_map(|line| line.strip_prefix(name))?;
            let set = u64::from_str_radix(set.trim(), 16).ok()?;
            Some(set & (1 << (Signal::SIGTSTP as u64 - 1)) != 0)
        };
        match cares("SigCgt:") == Some(true) || cares("SigIgn:") == Some(true) {
            true => Signal::SIGTSTP,
            false => Signal::SIGSTOP,
        }
    }

    /// Reaps everything that ended; the report if the command is among it.
    fn reap(&mut self) -> io::Result<Option<Report>> {
        let mut report = None;
        loop {
            let (pid, end) = match sys::reap(false)? {
                Child::None | Child::Running => return Ok(report),
                Child::Exited(pid, code) => (pid, Report::Exited(code)),
                Child::Signalled(pid, signal) => (pid, Report::Signalled(signal)),
            };
            if pid == self.leader && !self.has_ended {
                self.has_ended = true;
                report = Some(end);
            }
        }
    }
}

/// Waits until children ended, or an order came.
fn wait(children: &SignalFd, control: &OwnedFd) -> io::Result<[bool; 2]> {
    let mut polled = [
        PollFd::new(children.as_fd(), PollFlags::POLLIN),
        PollFd::new(control.as_fd(), PollFlags::POLLIN),
    ];
    match poll(&mut polled, PollTimeout::NONE) {
        Err(Errno::EINTR) => Ok([false; 2]),
        other => other.map(|_| polled.map(|fd| fd.any().unwrap_or(true))).map_err(Into::into),
    }
}
