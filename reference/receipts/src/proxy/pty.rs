//! Terminals: records, the runs of their shells, and the time of each report.

mod attach;
mod run;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use self::run::{ShellRun, ShellStream};
use super::event_sink::{ActionRecord, EventSink};
use super::routes::EndpointFamily;

/// All terminals that are known here.
pub(super) struct PtyTable {
    teller: Arc<EventSink>,
    known: Mutex<HashMap<String, PtyRecord>>,
}

/// One terminal.
#[derive(Debug, Default)]
struct PtyRecord {
    /// The input of the record, if it was made through this proxy.
    input: Option<Value>,
    /// The number of output bytes seen; execd counts on over all runs.
    shown: u64,
    run: Option<ShellRun>,
}

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum PtyClosing {
    /// The shell's exit code.
    Exit(i64),
    /// A request ended it.
    Deleted,
    /// There is no knowing how, or not yet.
    Unseen(&'static str),
}

impl PtyTable {
    /// None so far.
    pub(super) fn new(teller: Arc<EventSink>) -> Self {
        Self { teller, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, PtyRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A record was made; nothing runs yet.
    pub(super) fn recorded(&self, id: &str, command: Option<&str>) {
        let input = Some(command.map_or_else(|| json!({}), |command| json!({"command": command})));
        self.known().insert(id.to_owned(), PtyRecord { input, ..PtyRecord::default() });
    }

    /// Notes an attached connection; the first one opens the run.
    pub(super) fn attached(&self, id: &str) {
        let mut known = self.known();
        let pty = known.entry(id.to_owned()).or_default();
        if pty.run.is_none() {
            let run = pty.run.insert(ShellRun::new());
            self.teller.tell(ActionRecord {
                action: "system.pty.open".to_owned(),
                family: Some(EndpointFamily::Pty),
                input: pty.input.clone(),
                output: Some(json!({"pty_id": id})),
                correlation: Some(run.correlator.clone()),
                ..ActionRecord::default()
            });
        }
        if let Some(run) = &mut pty.run {
            run.attached += 1;
        }
    }

    /// Notes a detached connection, which ends nothing but a terminal that was deleted.
    pub(super) fn detached(&self, id: &str) {
        let mut known = self.known();
        let Some(run) = known.get_mut(id).and_then(|pty| pty.run.as_mut()) else { return };
        run.attached = run.attached.saturating_sub(1);
        let over = run.deleted && run.attached == 0;
        drop(known);
        if over {
            self.closed(id, PtyClosing::Deleted);
        }
    }

    /// Returns whether a shell runs without an attached connection.
    pub(super) fn is_unwatched(&self, id: &str) -> bool {
        let known = self.known();
        known.get(id).and_then(|pty| pty.run.as_ref()).is_some_and(|run| run.attached == 0)
    }

    /// Bytes went into the shell.
    fn typed(&self, id: &str, bytes: &[u8]) {
        self.with_run(id, |_, run| run.saw(ShellStream::Stdin, bytes));
    }

    /// Bytes came out of it.
    fn printed(&self, id: &str, stream: ShellStream, bytes: &[u8]) {
        self.with_run(id, |shown, run| {
            *shown = shown.saturating_add(bytes.len() as u64);
            run.saw(stream, bytes);
        });
    }

    /// Bytes came once more, from where they begin; those that were seen do not count again.
    fn replayed(&self, id: &str, offset: u64, bytes: &[u8]) {
        self.with_run(id, |shown, run| {
            let seen = usize::try_from(shown.saturating_sub(offset)).unwrap_or(usize::MAX);
            if offset > *shown {
                run.missed();
            }
            run.saw(ShellStream::Stdout, bytes.get(seen..).unwrap_or_default());
            *shown = (*shown).max(offset.saturating_add(bytes.len() as u64));
        });
    }

    /// Notes bytes that could not be read.
    fn missed(&self, id: &str) {
        self.with_run(id, |_, run| run.missed());
    }

    /// A signal is on its way; returns the one before.
    pub(super) fn signalled(&self, id: &str, signal: Option<&str>) -> Option<String> {
        let mut before = None;
        self.with_run(id, |_, run| {
            before = std::mem::replace(&mut run.signal, signal.map(str::to_owned));
        });
        before
    }

    fn with_run(&self, id: &str, act: impl FnOnce(&mut u64, &mut ShellRun)) {
        if let Some(pty) = self.known().get_mut(id)
            && let Some(run) = &mut pty.run
        {
            act(&mut pty.shown, run);
        }
    }

    /// execd has deleted it; its run ends when the last connection shows how, at the latest.
    pub(super) fn deleted(&self, id: &str) {
        let mut watched = false;
        self.with_run(id, |_, run| {
            run.deleted = true;
            watched = run.attached > 0;
        });
        if !watched {
            self.closed(id, PtyClosing::Deleted);
        }
    }

    /// A run is over.
    pub(super) fn closed(&self, id: &str, how: PtyClosing) {
        let run = self.known().get_mut(id).and_then(|pty| pty.run.take());
        if let Some(run) = run {
            self.tell(&run, how);
        }
    }

    /// Every run is over.
    pub(super) fn all_closed(&self, why: &'static str) {
        let runs: Vec<ShellRun> =
            self.known().values_mut().filter_map(|pty| pty.run.take()).collect();
        for run in &runs {
            self.tell(run, PtyClosing::Unseen(why));
        }
    }

    fn tell(&self, run: &ShellRun, how: PtyClosing) {
        let (exit, error) = match how {
            PtyClosing::Exit(code) => (Some(code), None),
            PtyClosing::Deleted => (None, None),
            PtyClosing::Unseen(why) => (None, Some(why.to_owned())),
        };
        self.teller.tell(ActionRecord {
            action: "system.pty.close".to_owned(),
            family: Some(EndpointFamily::Pty),
            input: run.input(exit),
            output: run.output(),
            error,
            correlation: Some(run.correlator.clone()),
            ..ActionRecord::default()
        });
    }
}

#[cfg(test)]
mod tests;
