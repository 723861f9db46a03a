//! Follows one run: a loop that waits in one place for reports, signals, time and streams.

use std::io;

use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

use super::process_tree::ProcessTree;
use super::signals::SignalInbox;
use super::sources::{SourcePoller, SourceSet};
use super::streams::StreamEnds;
use super::{BEGINNING, RunBounds, RunProgress, grace};
use crate::control::{ControlCommand, FailedStep, InitReport};
use crate::sys::signals as noted;
use crate::sys::{ProcessHandle, Timer};

/// The resources for following a run, all made before anything is started.
pub(super) struct WaitInstruments {
    watch: SourcePoller,
    clock: Timer,
    signals: SignalInbox,
}

impl WaitInstruments {
    /// Makes the instruments for a run with these signals that ends with `caller`.
    pub(super) fn new(signals: SignalInbox, caller: Option<&ProcessHandle>) -> io::Result<Self> {
        let clock = Timer::new()?;
        let watch = SourcePoller::new()?;
        watch.readable(&signals, SourceSet::SIGNALS)?;
        watch.readable(&clock, SourceSet::CLOCK)?;
        caller.map_or(Ok(()), |caller| watch.readable(caller, SourceSet::CALLER))?;
        Ok(Self { watch, clock, signals })
    }
}

/// One run, followed.
pub(super) struct Supervisor<'a, 'b> {
    pub(super) instruments: WaitInstruments,
    pub(super) tree: &'a mut ProcessTree,
    pub(super) streams: &'a mut StreamEnds,
    pub(super) bounds: RunBounds<'b>,
    pub(super) seen: RunProgress,
}

impl Supervisor<'_, '_> {
    /// Follows the run until nothing of it is left.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        self.tree.watch(&self.instruments.watch)?;
        self.streams.watch(&self.instruments.watch)?;
        if let Some(refusals) = &self.bounds.refusals {
            refusals.watch(&self.instruments.watch)?;
        }
        self.set_deadline()?;
        while !self.tree.is_gone() {
            self.step()?;
        }
        Ok(())
    }

    /// A helper has a while to begin; then the command's own time counts, if it has any.
    fn set_deadline(&self) -> io::Result<()> {
        let beginning = (!self.seen.begun).then_some(BEGINNING);
        let early = if fault!("supervise.early") { 300 } else { 0 };
        let timeout = self.bounds.timeout.map(|time| {
            time.saturating_sub(Duration::from_millis(early)).max(Duration::from_millis(1))
        });
        let first = timeout.into_iter().chain(beginning).min();
        match first {
            Some(first) => self.instruments.clock.arm(first),
            None => self.instruments.clock.disarm(),
        }
    }

    /// Waits for something to happen and deals with it. An end that is seen at the same time as a
    /// signal or the deadline came first.
    fn step(&mut self) -> io::Result<()> {
        let ready = self.instruments.watch.wait()?;
        if ready.has(SourceSet::COMMAND) {
            self.seen.ended_at = Some(Instant::now());
        }
        if let Some(caller) = self.bounds.caller.take_if(|_| ready.has(SourceSet::CALLER)) {
            self.instruments.watch.forget(caller)?;
            self.seen.abandoned = self.seen.ended.is_none();
            self.tree.kill()?;
        }
        for report in self.tree.collect_reports(&self.instruments.watch, ready)? {
            self.handle_report(report)?;
        }
        if ready.has(SourceSet::SIGNALS) {
            self.heed_signals()?;
        }
        if ready.has(SourceSet::CLOCK) {
            self.time_is_up()?;
        }
        self.streams.serve(&self.instruments.watch, ready)?;
        if let Some(refusals) = &mut self.bounds.refusals {
            refusals.serve(&self.instruments.watch, ready)?;
        }
        if self.streams.stdin_failed() && !self.is_ending() && self.seen.ended.is_none() {
            self.seen.unfed = !fault!("supervise.unread-runs-on");
            if self.seen.unfed {
                self.end_gently()?;
            }
        }
        Ok(())
    }

    fn handle_report(&mut self, report: InitReport) -> io::Result<()> {
        match report {
            InitReport::Hello => {
                self.seen.begun = true;
                if !self.is_ending() {
                    self.set_deadline()?;
                }
            }
            // Should nothing more be heard, a command that ran must not be called not started.
            InitReport::Starting => self.seen.started = true,
            InitReport::Started => {
                self.seen.started_at = Some(Instant::now());
                // The command's time begins now, not with the making of its box.
                if !self.is_ending() {
                    self.set_deadline()?;
                }
            }
            InitReport::Failed(what, errno) => {
                // A stage that breaks later on says nothing about the command.
                self.seen.started &= matches!(what, FailedStep::Build(_));
                self.seen.failed = Some((what, errno));
            }
            InitReport::Passed => self.seen.passed = true,
            InitReport::Unreached(count) => self.seen.unreached = Some(count),
            InitReport::Exited(_) | InitReport::Signalled(_) => {
                self.seen.ended = Some(report);
                self.seen.ended_at.get_or_insert_with(Instant::now);
                if !self.seen.passed {
                    self.take_back();
                }
            }
        }
        Ok(())
    }

    /// Withdraws the reasons for ending the command: it had ended before a signal could reach it.
    fn take_back(&mut self) {
        self.seen.timed_out = false;
        self.seen.unfed = false;
        if let Some(signal) = self.seen.interrupted_by.take() {
            noted::owe(signal);
        }
    }

    fn is_ending(&self) -> bool {
        self.seen.timed_out
            || self.seen.interrupted_by.is_some()
            || self.seen.unfed
            || self.seen.abandoned
    }

    /// Returns whether the command has ended by itself, and only the processes it left are being
    /// killed.
    fn is_over(&self) -> bool {
        self.seen.ended.is_some() && !self.is_ending()
    }

    fn heed_signals(&mut self) -> io::Result<()> {
        for (signal, times) in self.instruments.signals.take() {
            match signal {
                Signal::SIGTSTP if fault!("supervise.stop-swallowed") => {}
                Signal::SIGTSTP => self.instruments.signals.stop_all()?,
                Signal::SIGCONT => self.pass_on(signal)?,
                Signal::SIGWINCH if fault!("supervise.size-untold") => {}
                Signal::SIGWINCH => self.tell_new_size()?,
                _ if self.is_over() => {}
                _ => self.interrupted(signal, times)?,
            }
        }
        Ok(())
    }

    /// Passes the terminal's new size on: the kernel signals it only within the terminal's session,
    /// which the command has left.
    fn tell_new_size(&self) -> io::Result<()> {
        noted::take_owed(Signal::SIGWINCH);
        self.pass_on(Signal::SIGWINCH)
    }

    /// The first signal begins the grace, any further one but a hang-up ends it at once: terminals
    /// and service managers send a hang-up right after another signal.
    fn interrupted(&mut self, signal: Signal, times: u32) -> io::Result<()> {
        noted::take_owed(signal);
        let again = self.is_ending() || times > 1;
        if !self.is_ending() {
            self.seen.interrupted_by = Some(signal);
            self.instruments.clock.arm(grace())?;
        }
        self.pass_on(signal)?;
        match again && signal != Signal::SIGHUP && !fault!("supervise.second-signal") {
            true => self.tree.kill(),
            false => Ok(()),
        }
    }

    fn time_is_up(&mut self) -> io::Result<()> {
        self.instruments.clock.heed()?;
        if self.is_over() {
            return Ok(());
        }
        if self.is_ending() {
            return self.tree.kill();
        }
        if !self.seen.begun && self.bounds.timeout.is_none_or(|timeout| timeout > BEGINNING) {
            self.seen.mute = true;
            return self.tree.kill();
        }
        self.seen.timed_out = true;
        self.end_gently()
    }

    /// The command has a while to end by itself.
    fn end_gently(&self) -> io::Result<()> {
        self.pass_on(Signal::SIGTERM)?;
        self.instruments.clock.arm(grace())
    }

    fn pass_on(&self, signal: Signal) -> io::Result<()> {
        self.tree.order(ControlCommand::Signal(signal as i32))
    }
}
