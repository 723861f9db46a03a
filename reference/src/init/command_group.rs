//! The command and its process group: follows them to their end and signals them as ordered.
//!
//! Nothing here allocates: see [`sys::start_beside`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{self, Signal};

use super::refused_routes;
use crate::control::{self, ControlCommand, InitReport};
use crate::mediate::ServedMediation;
use crate::sys::{self, ChildEvents, ProcessEnd, ReapedChild};

/// The processes that the command's end left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrphanState {
    /// None: there is no child any more.
    Nothing,
    /// The end of the last child was not seen.
    Unknown,
}

/// The state of the command's process group.
pub(super) struct CommandGroup {
    /// The command, which leads it.
    leader: Pid,
    /// The leader is reaped.
    has_ended: bool,
    left: OrphanState,
    /// A fatal signal was passed on: the members have a grace period.
    is_ending: bool,
    /// The network is private, and the count of unreached destinations is reported.
    counts: bool,
    /// The mediation of the members' calls, if there is any.
    mediation: Option<ServedMediation>,
}

impl CommandGroup {
    pub(super) fn led_by(leader: Pid) -> Self {
        Self {
            leader,
            has_ended: false,
            left: OrphanState::Unknown,
            is_ending: false,
            counts: false,
            mediation: None,
        }
    }

    /// Makes the group report, should the command fail, the unreached destinations of a private network and
    /// the ends of the processes that `mediation` refused something.
    pub(super) fn counting(self, mediation: Option<ServedMediation>) -> Self {
        Self { counts: true, mediation, ..self }
    }

    /// Follows orders and reports the command's end; returns when everything is to be killed.
    pub(super) fn follow(
        mut self,
        children: &ChildEvents,
        control: BorrowedFd<'_>,
    ) -> io::Result<OrphanState> {
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

    fn tell(&mut self, end: ProcessEnd, control: BorrowedFd<'_>) -> io::Result<()> {
        self.has_ended = true;
        let failed = self.counts && end != ProcessEnd::Exited(0);
        self.mediation.iter().filter(|_| failed).for_each(ServedMediation::conclude);
        if let Some(count) = failed.then(refused_routes::unreached).flatten() {
            control::post(control, InitReport::Unreached(count).encode())?;
        }
        control::post(control, InitReport::from(end).encode())
    }

    /// Returns whether no process in a grace period is left. Zombies do not count: those without a
    /// parent were reaped here, and others are no children of this process.
    fn is_over(&self, children: &ChildEvents) -> io::Result<bool> {
        if !self.has_ended || !self.is_ending || fault!("supervise.members-grace") {
            return Ok(self.has_ended);
        }
        Ok(!children.has_member(self.leader)?)
    }

    /// Carries out `order` and returns whether to go on; `None`: the supervisor is gone.
    fn obey(&mut self, order: Option<ControlCommand>, control: BorrowedFd<'_>) -> io::Result<bool> {
        let Some(ControlCommand::Signal(number)) = order else { return Ok(false) };
        match Signal::from_named_raw(number) {
            None => return Err(Errno::INVAL.into()),
            Some(Signal::TSTP) => self.send(self.stop_signal()),
            Some(harmless @ (Signal::CONT | Signal::WINCH)) => self.send(harmless),
            Some(ending) => {
                if !self.has_ended {
                    self.is_ending = true;
                    control::post(control, InitReport::Passed.encode())?;
                }
                self.send(ending);
                // One that is stopped has to run to heed it.
                if !fault!("supervise.stopped-stays") {
                    self.send(Signal::CONT);
                }
            }
        }
        Ok(true)
    }

    /// Signals the group. Its number is its own: the leader is not reaped, or members of it are
    /// left, or else [`Self::is_over`] has ended this.
    fn send(&self, signal: Signal) {
        if let Some(group) = process::Pid::from_raw(self.leader.as_raw()) {
            if fault!("supervise.leader-alone") {
                let _gone = process::kill_process(group, signal);
                return;
            }
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
        mut next: impl FnMut() -> io::Result<ReapedChild>,
        control: BorrowedFd<'_>,
    ) -> io::Result<()> {
        loop {
            match next()? {
                ReapedChild::Ended(who, end) if who == self.leader && !self.has_ended => {
                    self.tell(end, control)?;
                }
                ReapedChild::Ended(..) => {}
                ReapedChild::Running => return Ok(()),
                ReapedChild::None => {
                    if sys::ADOPTS_ORPHANS {
                        self.left = OrphanState::Nothing;
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
    use crate::control::ControlEvent;
    use rstest::rstest;
    use std::os::fd::AsFd;

    /// Checks that the leader's end is reported, once, where it is seen only as the leader is
    /// reaped.
    #[rstest]
    #[case::among_others(&[(9, ProcessEnd::Exited(0)), (7, ProcessEnd::Exited(3)), (8, ProcessEnd::Signalled(9))])]
    #[case::alone(&[(7, ProcessEnd::Exited(3))])]
    fn an_end_that_comes_between_the_look_and_the_reaping_is_told(
        #[case] ended: &[(i32, ProcessEnd)],
    ) {
        let (ours, theirs) = control::pair().unwrap();
        let mut group = CommandGroup::led_by(Pid::from_raw(7));
        let mut all = ended.iter().map(|(who, end)| ReapedChild::Ended(Pid::from_raw(*who), *end));
        group.reap(|| Ok(all.next().unwrap_or(ReapedChild::Running)), theirs.as_fd()).unwrap();
        assert!(group.has_ended);
        let heard = control::next_report(&ours).unwrap();
        assert!(matches!(heard, ControlEvent::Report(InitReport::Exited(3), None)));
        assert!(matches!(control::next_report(&ours).unwrap(), ControlEvent::Nothing));
    }

    /// Checks that the leader's end is reported no more when it was reported before the reaping.
    #[test]
    fn an_end_that_was_told_is_not_told_again() {
        let (ours, theirs) = control::pair().unwrap();
        let mut group = CommandGroup::led_by(Pid::from_raw(7));
        group.tell(ProcessEnd::Exited(3), theirs.as_fd()).unwrap();
        let mut all =
            [ReapedChild::Ended(Pid::from_raw(7), ProcessEnd::Exited(3)), ReapedChild::None]
                .into_iter();
        group.reap(|| Ok(all.next().unwrap()), theirs.as_fd()).unwrap();
        assert_eq!(group.left == OrphanState::Nothing, sys::ADOPTS_ORPHANS);
        assert!(matches!(
            control::next_report(&ours).unwrap(),
            ControlEvent::Report(InitReport::Exited(3), _)
        ));
        assert!(matches!(control::next_report(&ours).unwrap(), ControlEvent::Nothing));
    }
}
