//! The command and its process group: follows them to their end and signals them as ordered.
//!
//! Nothing here allocates: see [`sys::start_beside`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{self, Signal};

use super::routes;
use crate::control::{self, Order, Report};
use crate::sys::{self, Child, Children};

/// The processes that the command's end left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// None: there is no child any more.
    Nothing,
    /// The end of the last child was not seen.
    Unknown,
}

/// The state of the command's process group.
pub(super) struct Group {
    /// The command, which leads it.
    leader: Pid,
    /// The leader is reaped.
    has_ended: bool,
    left: Left,
    /// A fatal signal was passed on: the members have a grace period.
    is_ending: bool,
    /// The network is private, and the count of unreached destinations is reported.
    counts: bool,
}

impl Group {
    pub(super) fn led_by(leader: Pid) -> Self {
        Self { leader, has_ended: false, left: Left::Unknown, is_ending: false, counts: false }
    }

    /// Makes the group report the unreached destinations of a private network.
    pub(super) fn counting(self) -> Self {
        Self { counts: true, ..self }
    }

    /// Follows orders and reports the command's end; returns when everything is to be killed.
    pub(super) fn follow(
        mut self,
        children: &Children,
        control: BorrowedFd<'_>,
    ) -> io::Result<Left> {
        loop {
            let [ended, ordered] = wait(children.as_fd(), control)?;
            // Also before an order, which must not be called passed on if it came too late.
            self.take_note(control)?;
            if ordered && !self.obey(control::next_order(control)?, control)? {
                return Ok(self.left);
            }
            if ended && !self.is_over(children)? {
                children.hush();
                // A process that ended before is not announced again.
                self.take_note(control)?;
            }
            if self.is_over(children)? {
                return Ok(self.left);
            }
        }
    }

    /// Reports the command's end, and reaps everything that ended.
    fn take_note(&mut self, control: BorrowedFd<'_>) -> io::Result<()> {
        if !self.has_ended
            && let Some(end) = sys::end_of(self.leader)?
        {
            // First of all: reaping takes as long as it takes the supervisor to wake up.
            self.tell(end, control)?;
        }
        self.reap(|| sys::reap(false), control)
    }

    fn tell(&mut self, end: Report, control: BorrowedFd<'_>) -> io::Result<()> {
        self.has_ended = true;
        let failed = self.counts && end != Report::Exited(0);
        if let Some(count) = failed.then(routes::unreached).flatten() {
            control::post(control, Report::Unreached(count).encode())?;
        }
        control::post(control, end.encode())
    }

    /// Returns whether no process in a grace period is left. Zombies do not count: those without a
    /// parent were reaped here, and others are no children of this process.
    fn is_over(&self, children: &Children) -> io::Result<bool> {
        if !self.has_ended || !self.is_ending {
            return Ok(self.has_ended);
        }
        Ok(!children.has_member(self.leader)?)
    }

    /// Carries out `order` and returns whether to go on; `None`: the supervisor is gone.
    fn obey(&mut self, order: Option<Order>, control: BorrowedFd<'_>) -> io::Result<bool> {
        let Some(Order::Signal(number)) = order else { return Ok(false) };
        match Signal::from_named_raw(number) {
            None => return Err(Errno::INVAL.into()),
            Some(Signal::TSTP) => self.send(self.stop_signal()),
            Some(harmless @ (Signal::CONT | Signal::WINCH)) => self.send(harmless),
            Some(ending) => {
                if !self.has_ended {
                    self.is_ending = true;
                    control::post(control, Report::Passed.encode())?;
                }
                self.send(ending);
                // One that is stopped has to run to heed it.
                self.send(Signal::CONT);
            }
        }
        Ok(true)
    }

    /// Signals the group. Its number is its own: the leader is not reaped, or members of it are
    /// left, or else [`Self::is_over`] has ended this.
    fn send(&self, signal: Signal) {
        if let Some(group) = process::Pid::from_raw(self.leader.as_raw()) {
            // A group that has just ended is no failure: its report follows.
            let _gone = process::kill_process_group(group, signal);
        }
    }

    /// Returns the stop signal for the leader. In a session without a terminal the kernel ignores
    /// the default action of SIGTSTP, so only a command that handles or ignores it gets that one.
    fn stop_signal(&self) -> Signal {
        if sys::heeds_stop(self.leader) { Signal::TSTP } else { Signal::STOP }
    }

    /// Reaps the children that `next` returns. The leader may have ended since the last check: only
    /// the process that reaps it learns its status.
    fn reap(
        &mut self,
        mut next: impl FnMut() -> io::Result<Child>,
        control: BorrowedFd<'_>,
    ) -> io::Result<()> {
        loop {
            match next()? {
                Child::Ended(who, end) if who == self.leader && !self.has_ended => {
                    self.tell(end, control)?;
                }
                Child::Ended(..) => {}
                Child::Running => return Ok(()),
                Child::None => {
                    if sys::ADOPTS_ORPHANS {
                        self.left = Left::Nothing;
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// Waits until children ended, or an order came.
fn wait(children: BorrowedFd<'_>, control: BorrowedFd<'_>) -> io::Result<[bool; 2]> {
    let mut polled = [children, control].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut polled, None) {
        Err(Errno::INTR) => Ok([false; 2]),
        other => Ok(other.map(|_| polled.map(|fd| !fd.revents().is_empty()))?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Heard;
    use rstest::rstest;
    use std::os::fd::AsFd;

    /// Checks that the leader's end is reported, once, where it is seen only as the leader is
    /// reaped.
    #[rstest]
    #[case::among_others(&[(9, Report::Exited(0)), (7, Report::Exited(3)), (8, Report::Signalled(9))])]
    #[case::alone(&[(7, Report::Exited(3))])]
    fn an_end_that_comes_between_the_look_and_the_reaping_is_told(#[case] ended: &[(i32, Report)]) {
        let (ours, theirs) = control::pair().unwrap();
        let mut group = Group::led_by(Pid::from_raw(7));
        let mut all = ended.iter().map(|(who, end)| Child::Ended(Pid::from_raw(*who), *end));
        group.reap(|| Ok(all.next().unwrap_or(Child::Running)), theirs.as_fd()).unwrap();
        assert!(group.has_ended);
        let heard = control::next_report(&ours).unwrap();
        assert!(matches!(heard, Heard::Report(Report::Exited(3), None)));
        assert!(matches!(control::next_report(&ours).unwrap(), Heard::Nothing));
    }

    /// Checks that the leader's end is reported no more when it was reported before the reaping.
    #[test]
    fn an_end_that_was_told_is_not_told_again() {
        let (ours, theirs) = control::pair().unwrap();
        let mut group = Group::led_by(Pid::from_raw(7));
        group.tell(Report::Exited(3), theirs.as_fd()).unwrap();
        let mut all = [Child::Ended(Pid::from_raw(7), Report::Exited(3)), Child::None].into_iter();
        group.reap(|| Ok(all.next().unwrap()), theirs.as_fd()).unwrap();
        assert_eq!(group.left == Left::Nothing, sys::ADOPTS_ORPHANS);
        assert!(matches!(
            control::next_report(&ours).unwrap(),
            Heard::Report(Report::Exited(3), _)
        ));
        assert!(matches!(control::next_report(&ours).unwrap(), Heard::Nothing));
    }
}
