//! The processes of one run as seen from here: whether any is left, and how to end them all.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::sources::{Sources, Watch};
use crate::control::{self, Heard, Order, Report};
use crate::sys::{self, Process, Stack};

/// One running tree. Dropped before its end is known it is killed, so that no panic leaves it.
pub(super) struct Tree {
    /// The inner stage's death ends all processes.
    namespaced: bool,
    /// Our child, until it is reaped.
    helper: Option<Process>,
    /// The helper's stack, if it lies in our memory.
    stack: Option<Stack>,
    is_helper_dead: bool,
    /// The inner stage, from its hello to its death.
    inner: Option<Process>,
    /// The command, from its start to its death.
    command: Option<Process>,
    /// The socket, open while the inner stage, or a process that starts it, lives.
    control: Option<OwnedFd>,
}

impl Tree {
    /// The tree below `helper`, which was just started.
    pub(super) fn new(
        helper: Process,
        stack: Option<Stack>,
        namespaced: bool,
        control: OwnedFd,
    ) -> Self {
        let (helper, control) = (Some(helper), Some(control));
        Self {
            namespaced,
            helper,
            stack,
            is_helper_dead: false,
            inner: None,
            command: None,
            control,
        }
    }

    pub(super) fn watch(&self, watch: &Watch) -> io::Result<()> {
        self.control.iter().try_for_each(|socket| watch.readable(socket, Sources::CONTROL))?;
        self.helper.iter().try_for_each(|helper| watch.readable(helper, Sources::HELPER))
    }

    /// Returns whether no process of it is left, or only one that ends by itself: the end of a
    /// helper beside us follows that of its socket.
    pub(super) fn is_gone(&self) -> bool {
        let is_ending = self.is_helper_dead || self.stack.is_some();
        self.control.is_none() && is_ending && self.inner.is_none()
    }

    /// Sends an order to the inner stage.
    pub(super) fn order(&self, order: Order) -> io::Result<()> {
        self.control.as_ref().map_or(Ok(()), |control| control::post(control, order.encode()))
    }

    /// Kills all of it.
    pub(super) fn kill(&self) -> io::Result<()> {
        match (&self.inner, &self.helper, self.namespaced) {
            (Some(init), _, true) => sys::signal_process(init, libc::SIGKILL),
            (None, Some(helper), true) => sys::signal_process(helper, libc::SIGKILL),
            // It must live to find and kill the processes that the command left; a stop would hold
            // it up.
            (_, Some(helper), false) => {
                self.order(Order::Kill)?;
                sys::signal_process(helper, libc::SIGCONT)
            }
            (_, None, _) => Ok(()),
        }
    }

    /// Takes note of deaths, and takes in the reports that wait.
    pub(super) fn look(&mut self, watch: &Watch, ready: Sources) -> io::Result<Vec<Report>> {
        if let Some(helper) = self.helper.as_ref().filter(|_| ready.has(Sources::HELPER)) {
            watch.forget(helper)?;
            self.is_helper_dead = true;
        }
        if let Some(inner) = self.inner.take_if(|_| ready.has(Sources::INNER)) {
            watch.forget(&inner)?;
        }
        if let Some(command) = self.command.take_if(|_| ready.has(Sources::COMMAND)) {
            watch.forget(&command)?;
        }
        match ready.has(Sources::CONTROL) {
            true => self.hear(watch),
            false => Ok(Vec::new()),
        }
    }

    fn hear(&mut self, watch: &Watch) -> io::Result<Vec<Report>> {
        let mut heard = Vec::new();
        while let Some(control) = &self.control {
            match control::next_report(control)? {
                Heard::Nothing => break,
                Heard::Report(report, process) => {
                    heard.push(report);
                    self.meet(report, process, watch)?;
                }
                Heard::End => {
                    watch.forget(control)?;
                    self.control = None;
                }
            }
        }
        Ok(heard)
    }

    /// Watches the process that came with a report.
    fn meet(&mut self, report: Report, process: Option<Process>, watch: &Watch) -> io::Result<()> {
        let (place, source) = match report {
            Report::Started => (&mut self.command, Sources::COMMAND),
            _ => (&mut self.inner, Sources::INNER),
        };
        if let Some(process) = process {
            watch.readable(&process, source)?;
            *place = Some(process);
        }
        Ok(())
    }

    /// Waits until all of it is dead, and reaps our child; `None` if it was reaped elsewhere.
    pub(super) fn bury(&mut self) -> io::Result<Option<ExitStatus>> {
        self.control = None;
        let Some(helper) = &self.helper else { return Ok(None) };
        let status = reap(helper)?;
        self.helper = None;
        if let Some(stack) = self.stack.take() {
            stack.put_by();
        }
        if let Some(inner) = self.inner.take() {
            await_death(&inner)?;
        }
        Ok(status)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.helper.is_some() {
            // The errors that led here are reported already, if any can be.
            let _killed = self.kill();
            let _buried = self.bury();
        }
    }
}

/// Waits for the death of our child. Where this process has its children reaped elsewhere, no exit
/// status is available.
fn reap(helper: &Process) -> io::Result<Option<ExitStatus>> {
    match sys::reap_process(helper)? {
        None => await_death(helper).map(|()| None),
        status => Ok(status),
    }
}

fn await_death(process: &Process) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            other => return Ok(other.map(drop)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::Inner;
    use crate::launch::{Hold, Launch};
    use crate::mechanism::unconfined;
    use crate::supervise::{Input, Output, plumb};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Checks that a panic while a run is followed, in its writer or elsewhere, leaves no process.
    #[test]
    fn a_panic_leaves_no_process() {
        let argv = ["sleep", "600"];
        let launch = Launch::new(Hold::Subreaper, "/".as_ref(), &argv, &[]).unwrap();
        let (ours, theirs) = control::pair().unwrap();
        let (streams, _kept) = plumb(Input::Null, Output::Capture).unwrap();
        let running = unconfined::start(&Inner::new(&launch, theirs, streams).unwrap()).unwrap();
        let process = running.process.try_clone().unwrap();
        let tree = Tree::new(running.process, running.stack, false, ours);
        let panicked = catch_unwind(AssertUnwindSafe(move || {
            let _tree = tree;
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panicked.is_err());
        let mut polled = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut polled, PollTimeout::ZERO), Ok(1), "it is alive");
        assert_eq!(sys::reap_process(&process).unwrap(), None, "it is not reaped");
    }
}
