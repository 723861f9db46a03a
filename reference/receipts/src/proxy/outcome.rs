//! The outcome of an action, read from the answer while it passes.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::events::EventStream;
use super::routes::OutcomeSource;
use crate::ijson;

/// The most of an answer that is kept to be read as a whole.
const KEPT: usize = 16 << 20;

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerEnd {
    /// All of it came.
    Whole,
    /// execd broke it off.
    Cut,
    /// The agent went away before.
    Left,
    /// The proxy was stopped before.
    Stopped,
    /// There was none: execd could not be reached.
    Unreachable,
}

impl AnswerEnd {
    fn error(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Cut => Some("execd broke off its answer"),
            Self::Left => Some("interrupted: the agent went away"),
            Self::Stopped => Some("interrupted: the proxy was stopped"),
            Self::Unreachable => Some("execd could not be reached"),
        }
    }
}

/// The outcome of an action at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ActionOutcome {
    pub output: Option<Value>,
    pub error: Option<String>,
    /// The id that execd gives a command that continues in the background.
    pub id: Option<String>,
    /// The error answer of execd, if it was short enough to keep.
    pub said: Option<Vec<u8>>,
}

/// Reads an answer.
pub(super) struct OutcomeReader {
    shows: OutcomeSource,
    background: bool,
    status: u16,
    read: ReadState,
}

/// The content read from an answer.
enum ReadState {
    /// Its content does not matter.
    Nothing,
    Content(Sha256),
    Stream(Box<EventProgress>),
    Kept(Vec<u8>),
    /// It was too long to be kept.
    TooLong,
}

/// A stream of events.
#[derive(Default)]
struct EventProgress {
    events: EventStream,
    seen: EventSummary,
}

/// The facts shown by events.
#[derive(Default)]
struct EventSummary {
    id: Option<String>,
    complete: bool,
    /// The exit code, if the command was started.
    failed: Option<Option<i64>>,
    results: Sha256,
    logs: Sha256,
    unreadable: bool,
}

#[derive(Deserialize)]
struct ExecdEvent<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(default)]
    results: Option<Value>,
    #[serde(borrow, default)]
    error: Option<ExecdEventError<'a>>,
}

#[derive(Deserialize)]
struct ExecdEventError<'a> {
    #[serde(borrow, default)]
    ename: Cow<'a, str>,
    #[serde(borrow, default)]
    evalue: Cow<'a, str>,
}

impl OutcomeReader {
    /// Starts a reader for an answer that shows `shows`.
    pub(super) fn new(shows: OutcomeSource, background: bool) -> Self {
        let read = match shows {
            OutcomeSource::Exit | OutcomeSource::Results => ReadState::Stream(Box::default()),
            OutcomeSource::Content => ReadState::Content(Sha256::new()),
            OutcomeSource::Entries | OutcomeSource::Deleted => ReadState::Kept(Vec::new()),
            OutcomeSource::Done | OutcomeSource::Nothing => ReadState::Nothing,
        };
        Self { shows, background, status: 0, read }
    }

    /// The answer began.
    pub(super) fn begins(&mut self, status: u16) {
        self.status = status;
    }

    fn good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Takes in a piece of the answer.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let (good, results) = (self.good(), self.shows == OutcomeSource::Results);
        match &mut self.read {
            ReadState::Stream(stream) if good => {
                let EventProgress { events, seen } = &mut **stream;
                events.feed(bytes, &mut |event| seen.take(event, results));
            }
            ReadState::Content(_) if fault!("receipts.small-downloads") && bytes.len() < 4096 => {}
            ReadState::Content(content) if good => content.update(bytes),
            ReadState::Kept(kept) if kept.len() + bytes.len() > KEPT => {
                self.read = ReadState::TooLong;
            }
            ReadState::Kept(kept) => kept.extend_from_slice(bytes),
            _ => {}
        }
    }

    /// Returns whether the last event of a stream was complete before execd broke it off: the
    /// outcome is known.
    fn has_last_event(&self, ended: AnswerEnd) -> bool {
        let ReadState::Stream(stream) = &self.read else { return false };
        let EventProgress { events, seen } = &**stream;
        ended == AnswerEnd::Cut && events.is_between() && (seen.complete || seen.failed.is_some())
    }

    /// Ends the answer; returns its outcome.
    pub(super) fn end(&mut self, ended: AnswerEnd) -> ActionOutcome {
        if let Some(error) = ended.error().filter(|_| !self.has_last_event(ended)) {
            return ActionOutcome { error: Some(error.to_owned()), ..ActionOutcome::default() };
        }
        let good = self.good();
        match &mut self.read {
            read if !good => {
                let error = Some(format!("execd answered {}", self.status));
                ActionOutcome {
                    error,
                    said: read.kept().map(<[u8]>::to_vec),
                    ..ActionOutcome::default()
                }
            }
            ReadState::Stream(stream) if self.shows == OutcomeSource::Results => stream.ran(),
            ReadState::Stream(stream) => stream.exited(self.background),
            ReadState::Content(content) => done(json!({"content_hash": hex(content.clone())})),
            read if self.shows == OutcomeSource::Entries => {
                ActionOutcome { output: read.kept().and_then(entries), ..ActionOutcome::default() }
            }
            _ if self.shows == OutcomeSource::Nothing => ActionOutcome::default(),
            _ => done(json!({})),
        }
    }
}

impl ReadState {
    fn kept(&self) -> Option<&[u8]> {
        match self {
            Self::Kept(kept) => Some(kept),
            _ => None,
        }
    }
}

/// The hash of a list of entries, if it is one.
fn entries(text: &[u8]) -> Option<Value> {
    ijson::check(text).ok()?;
    let entries = serde_json::from_slice::<Value>(text).ok()?;
    let text = serde_json_canonicalizer::to_vec(&entries).ok()?;
    Some(json!({"entries_hash": hex(Sha256::new_with_prefix(text))}))
}

impl EventProgress {
    fn exited(&mut self, background: bool) -> ActionOutcome {
        let Self { events, seen } = self;
        events.finish(&mut |event| seen.take(event, false));
        let id = seen.id.take().filter(|_| background);
        let exit = |code: i64| Some(json!({"exit_code": code}));
        match seen.failed {
            Some(Some(code)) => {
                let error = Some(format!("exit code {code}"));
                let error = error.filter(|_| !fault!("receipts.failures-untold"));
                ActionOutcome { output: exit(code), error, ..ActionOutcome::default() }
            }
            Some(None) => failed("the command was not started"),
            None if !seen.complete && !fault!("receipts.open-streams") => {
                failed("the stream ended without an end of the command")
            }
            None if background => ActionOutcome { id, ..ActionOutcome::default() },
            None => ActionOutcome { output: exit(0), ..ActionOutcome::default() },
        }
    }

    fn ran(&mut self) -> ActionOutcome {
        let Self { events, seen } = self;
        events.finish(&mut |event| seen.take(event, true));
        if events.lost || seen.unreadable {
            return failed("an event of the stream could not be read");
        }
        let error = match (seen.failed, seen.complete) {
            (Some(_), _) => Some("the code ended with an error".to_owned()),
            (None, false) => Some("the stream ended without an end of the code".to_owned()),
            (None, true) => None,
        };
        let (results, mut logs) = (seen.results.clone(), seen.logs.clone());
        if fault!("receipts.logs-as-results") {
            logs = results.clone();
        }
        let output = Some(json!({"result_hash": hex(results), "logs_hash": hex(logs)}));
        ActionOutcome { output, error, ..ActionOutcome::default() }
    }
}

impl EventSummary {
    /// One event: of a kernel, whose results count, or of a command.
    fn take(&mut self, text: &[u8], results: bool) {
        match results {
            true => self.results(text),
            false => self.exit(text),
        }
    }

    fn event<'a>(&mut self, text: &'a [u8]) -> Option<ExecdEvent<'a>> {
        let event = serde_json::from_slice::<ExecdEvent<'_>>(text).ok();
        self.unreadable |= event.is_none();
        event
    }

    fn exit(&mut self, text: &[u8]) {
        let Some(event) = self.event(text) else { return };
        match event.r#type.as_ref() {
            "init" => self.id = Some(event.text.into_owned()),
            "execution_complete" => self.complete = true,
            "error" => {
                let error = event.error.filter(|error| error.ename == "CommandExecError");
                self.failed = Some(error.and_then(|error| error.evalue.parse().ok()));
            }
            _ => {}
        }
    }

    fn results(&mut self, text: &[u8]) {
        let Some(event) = self.event(text) else { return };
        match event.r#type.as_ref() {
            "execution_complete" => self.complete = true,
            "error" => self.failed = Some(None),
            "stdout" | "stderr" => {
                let line = json!({"t": event.r#type, "x": event.text});
                self.unreadable |= !hash_line(&mut self.logs, &line);
            }
            "result" => {
                let results = event.results.unwrap_or_else(|| json!({}));
                let exact = ijson::check(text).is_ok();
                self.unreadable |= !exact || !hash_line(&mut self.results, &results);
            }
            _ => {}
        }
    }
}

/// Adds a value's RFC 8785 text and a line end; whether there is such a text.
fn hash_line(hash: &mut Sha256, value: &Value) -> bool {
    let Ok(text) = serde_json_canonicalizer::to_vec(value) else { return false };
    hash.update(text);
    hash.update(b"\n");
    true
}

fn done(output: Value) -> ActionOutcome {
    ActionOutcome { output: Some(output), ..ActionOutcome::default() }
}

fn failed(why: &str) -> ActionOutcome {
    ActionOutcome { error: Some(why.to_owned()), ..ActionOutcome::default() }
}

/// A hash as receipts write it.
pub(super) fn hex(hash: Sha256) -> String {
    use std::fmt::Write;
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        let _always = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
