//! The outcome of an action, read from the answer while it passes.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::events::Events;
use super::routes::Shows;
use crate::receipts::ijson;

/// The most of an answer that is kept to be read as a whole.
const KEPT: usize = 16 << 20;

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
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

impl Ended {
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
pub(super) struct Outcome {
    pub output: Option<Value>,
    pub error: Option<String>,
    /// The id that execd gives a command that continues in the background.
    pub id: Option<String>,
    /// The error answer of execd, if it was short enough to keep.
    pub said: Option<Vec<u8>>,
}

/// Reads an answer.
pub(super) struct Reader {
    shows: Shows,
    background: bool,
    status: u16,
    read: Read,
}

/// The content read from an answer.
enum Read {
    /// Its content does not matter.
    Nothing,
    Content(Sha256),
    Stream(Box<Stream>),
    Kept(Vec<u8>),
    /// It was too long to be kept.
    TooLong,
}

/// A stream of events.
#[derive(Default)]
struct Stream {
    events: Events,
    seen: Seen,
}

/// The facts shown by events.
#[derive(Default)]
struct Seen {
    id: Option<String>,
    complete: bool,
    /// The exit code, if the command was started.
    failed: Option<Option<i64>>,
    results: Sha256,
    logs: Sha256,
    unreadable: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(default)]
    results: Option<Value>,
    #[serde(borrow, default)]
    error: Option<EventError<'a>>,
}

#[derive(Deserialize)]
struct EventError<'a> {
    #[serde(borrow, default)]
    ename: Cow<'a, str>,
    #[serde(borrow, default)]
    evalue: Cow<'a, str>,
}

impl Reader {
    /// Starts a reader for an answer that shows `shows`.
    pub(super) fn new(shows: Shows, background: bool) -> Self {
        let read = match shows {
            Shows::Exit | Shows::Results => Read::Stream(Box::default()),
            Shows::Content => Read::Content(Sha256::new()),
            Shows::Entries | Shows::Deleted => Read::Kept(Vec::new()),
            Shows::Done | Shows::Nothing => Read::Nothing,
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
        let (good, results) = (self.good(), self.shows == Shows::Results);
        match &mut self.read {
            Read::Stream(stream) if good => {
                let Stream { events, seen } = &mut **stream;
                events.feed(bytes, &mut |event| seen.take(event, results));
            }
            Read::Content(content) if good => content.update(bytes),
            Read::Kept(kept) if kept.len() + bytes.len() > KEPT => self.read = Read::TooLong,
            Read::Kept(kept) => kept.extend_from_slice(bytes),
            _ => {}
        }
    }

    /// Returns whether the last event of a stream was complete before execd broke it off: the
    /// outcome is known.
    fn has_last_event(&self, ended: Ended) -> bool {
        let Read::Stream(stream) = &self.read else { return false };
        let Stream { events, seen } = &**stream;
        ended == Ended::Cut && events.is_between() && (seen.complete || seen.failed.is_some())
    }

    /// Ends the answer; returns its outcome.
    pub(super) fn end(&mut self, ended: Ended) -> Outcome {
        if let Some(error) = ended.error().filter(|_| !self.has_last_event(ended)) {
            return Outcome { error: Some(error.to_owned()), ..Outcome::default() };
        }
        let good = self.good();
        match &mut self.read {
            read if !good => {
                let error = Some(format!("execd answered {}", self.status));
                Outcome { error, said: read.kept().map(<[u8]>::to_vec), ..Outcome::default() }
            }
            Read::Stream(stream) if self.shows == Shows::Results => stream.ran(),
            Read::Stream(stream) => stream.exited(self.background),
            Read::Content(content) => done(json!({"content_hash": hex(content.clone())})),
            read if self.shows == Shows::Entries => {
                Outcome { output: read.kept().and_then(entries), ..Outcome::default() }
            }
            _ if self.shows == Shows::Nothing => Outcome::default(),
            _ => done(json!({})),
        }
    }
}

impl Read {
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

impl Stream {
    fn exited(&mut self, background: bool) -> Outcome {
        let Self { events, seen } = self;
        events.finish(&mut |event| seen.take(event, false));
        let id = seen.id.take().filter(|_| background);
        let exit = |code: i64| Some(json!({"exit_code": code}));
        match seen.failed {
            Some(Some(code)) => {
                let error = Some(format!("exit code {code}"));
                Outcome { output: exit(code), error, ..Outcome::default() }
            }
            Some(None) => failed("the command was not started"),
            None if !seen.complete => failed("the stream ended without an end of the command"),
            None if background => Outcome { id, ..Outcome::default() },
            None => Outcome { output: exit(0), ..Outcome::default() },
        }
    }

    fn ran(&mut self) -> Outcome {
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
        let (results, logs) = (seen.results.clone(), seen.logs.clone());
        let output = Some(json!({"result_hash": hex(results), "logs_hash": hex(logs)}));
        Outcome { output, error, ..Outcome::default() }
    }
}

impl Seen {
    /// One event: of a kernel, whose results count, or of a command.
    fn take(&mut self, text: &[u8], results: bool) {
        match results {
            true => self.results(text),
            false => self.exit(text),
        }
    }

    fn event<'a>(&mut self, text: &'a [u8]) -> Option<Event<'a>> {
        let event = serde_json::from_slice::<Event<'_>>(text).ok();
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

fn done(output: Value) -> Outcome {
    Outcome { output: Some(output), ..Outcome::default() }
}

fn failed(why: &str) -> Outcome {
    Outcome { error: Some(why.to_owned()), ..Outcome::default() }
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
