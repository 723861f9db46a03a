//! The processes of one run as seen from here: whether any is left, and how to end them all.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::sources::{SourcePoller, SourceSet};
use crate::control::{self, ControlCommand, ControlEvent, InitReport};
use crate::sys::{self, ProcessHandle, SharedStack};

/// One running tree. Dropped before its end is known it is killed, so that no panic leaves it.
pub(super) struct ProcessTree {
    /// The inner stage's death ends all processes.
    namespaced: bool,
    /// Our child, until it is reaped.
    helper: Option<ProcessHandle>,
    /// The helper's stack, if it lies in our memory.
    stack: Option<SharedStack>,
    is_helper_dead: bool,
    /// The inner stage, from its hello to its death.
    inner: Option<ProcessHandle>,
    /// The command, from its start to its death.
    command: Option<ProcessHandle>,
    /// The socket, open while the inner stage, or a process that starts it, lives.
    control: Option<OwnedFd>,
}

impl ProcessTree {
    /// The tree below `helper`, which was just started.
    pub(super) fn new(
        helper: ProcessHandle,
        stack: Option<SharedStack>,
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

    pub(super) fn watch(&self, watch: &SourcePoller) -> io::Result<()> {
        self.control.iter().try_for_each(|socket| watch.readable(socket, SourceSet::CONTROL))?;
        self.helper.iter().try_for_each(|helper| watch.readable(helper, SourceSet::HELPER))
    }

    /// Returns whether no process of it is left, or only one that ends by itself: the end of a
    /// helper beside us follows that of its socket.
    pub(super) fn is_gone(&self) -> bool {
        let is_ending = self.is_helper_dead || self.stack.is_some();
        self.control.is_none() && is_ending && self.inner.is_none()
    }

    /// Sends an order to the inner stage.
    pub(super) fn order(&self, order: ControlCommand) -> io::Result<()> {
        self.control.as_ref().map_or(Ok(()), |control| control::post(control, order.encode()))
    }

    /// Kills all of it.
    pub(super) fn kill(&self) -> io::Result<()> {
        match (&self.inner, &self.helper, self.namespaced) {
            (Some(init), _, true) => sys::signal_process(init, libc::SIGKILL),
            (None, Some(helper), true) => sys::kill_with_children(helper),
            // It must live to find and kill the processes that the command left; a stop would hold
            // it up.
            (_, Some(helper), false) => {
                self.order(ControlCommand::Kill)?;
                sys::signal_process(helper, libc::SIGCONT)
            }
            (_, None, _) => Ok(()),
        }
    }

    /// Takes note of deaths, and takes in the reports that wait.
    pub(super) fn collect_reports(
        &mut self,
        watch: &SourcePoller,
        ready: SourceSet,
    ) -> io::Result<Vec<InitReport>> {
        if let Some(helper) = self.helper.as_ref().filter(|_| ready.has(SourceSet::HELPER)) {
            watch.forget(helper)?;
            self.is_helper_dead = true;
        }
        if let Some(inner) = self.inner.take_if(|_| ready.has(SourceSet::INNER)) {
            watch.forget(&inner)?;
        }
        if let Some(command) = self.command.take_if(|_| ready.has(SourceSet::COMMAND)) {
            watch.forget(&command)?;
        }
        match ready.has(SourceSet::CONTROL) {
            true => self.read_reports(watch),
            false => Ok(Vec::new()),
        }
    }

    fn read_reports(&mut self, watch: &SourcePoller) -> io::Result<Vec<InitReport>> {
        let mut heard = Vec::new();
        while let Some(control) = &self.control {
            match control::next_report(control)? {
                ControlEvent::Nothing => break,
                ControlEvent::Report(report, process) => {
                    heard.push(report);
                    self.meet(report, process, watch)?;
                }
                ControlEvent::End => {
                    watch.forget(control)?;
                    self.control = None;
                }
            }
        }
        Ok(heard)
    }

    /// Watches the process that came with a report.
    fn meet(
        &mut self,
        report: InitReport,
        process: Option<ProcessHandle>,
        watch: &SourcePoller,
    ) -> io::Result<()> {
        let (place, source) = match report {
            InitReport::Started => (&mut self.command, SourceSet::COMMAND),
            _ => (&mut self.inner, SourceSet::INNER),
        };
        if let Some(process) = process {
            watch.readable(&process, source)?;
            *place = Some(process);
        }
        Ok(())
    }

    /// Waits until all of it is dead, and reaps our child; `None` if it was reaped elsewhere.
    pub(super) fn reap_helper(&mut self) -> io::Result<Option<ExitStatus>> {
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

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.helper.is_some() {
            // The errors that led here are reported already, if any can be.
            let _killed = self.kill();
            let _buried = self.reap_helper();
        }
    }
}

/// Waits for the death of our child. Where this process has its children reaped elsewhere, no exit
/// status is available.
fn reap(helper: &ProcessHandle) -> io::Result<Option<ExitStatus>> {
    match sys::reap_process(helper)? {
        None => await_death(helper).map(|()| None),
        status => Ok(status),
    }
}

fn await_death(process: &ProcessHandle) -> io::Result<()> {
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
    use crate::control::{CommandContainment, LaunchSpec};
    use crate::init::SandboxInit;
    use crate::mechanism::unconfined;
    use crate::supervise::{OutputMode, StdinSource, plumb};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Checks that a panic while a run is followed, in its writer or elsewhere, leaves no process.
    #[test]
    fn a_panic_leaves_no_process() {
        let argv = ["sleep", "600"];
        let launch =
            LaunchSpec::new(CommandContainment::Subreaper, "/".as_ref(), &argv, &[]).unwrap();
        let (ours, theirs) = control::pair().unwrap();
        let (streams, _kept) = plumb(StdinSource::Null, OutputMode::Capture).unwrap();
        let running =
            unconfined::start(&SandboxInit::new(&launch, theirs, streams).unwrap()).unwrap();
        let process = running.process.try_clone().unwrap();
        let tree = ProcessTree::new(running.process, running.stack, false, ours);
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
