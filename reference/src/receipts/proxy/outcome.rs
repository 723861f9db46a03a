//! What an answer shows of an action, read while it passes by.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::events::Events;
use super::routes::Shows;

/// The most of an answer that is kept to be read as a whole.
const KEPT: usize = 16 << 20;

/// How an answer ended.
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

/// What is known of an action at its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    pub output: Option<Value>,
    pub error: Option<String>,
    /// What execd calls the command, where it goes on in the background.
    pub id: Option<String>,
    /// What execd said instead, if that was short enough to keep.
    pub said: Option<Vec<u8>>,
}

/// Reads an answer.
pub(super) struct Reader {
    shows: Shows,
    background: bool,
    status: u16,
    events: Events,
    seen: Seen,
    content: Sha256,
    kept: Vec<u8>,
    too_long: bool,
}

/// What events showed.
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
    /// For an answer that shows `shows`.
    pub(super) fn new(shows: Shows, background: bool) -> Self {
        Self {
            shows,
            background,
            status: 0,
            events: Events::default(),
            seen: Seen::default(),
            content: Sha256::new(),
            kept: Vec::new(),
            too_long: false,
        }
    }

    /// The answer began.
    pub(super) fn begins(&mut self, status: u16) {
        self.status = status;
    }

    fn good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// More of it came.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        match self.shows {
            Shows::Exit if self.good() => {
                self.events.feed(bytes, &mut |event| self.seen.exit(event));
            }
            Shows::Results if self.good() => {
                self.events.feed(bytes, &mut |event| self.seen.results(event));
            }
            Shows::Content if self.good() => self.content.update(bytes),
            Shows::Entries | Shows::Deleted => self.keep(bytes),
            _ => {}
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.too_long |= self.kept.len() + bytes.len() > KEPT;
        if self.too_long {
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(bytes);
        }
    }

    /// It ended; what is known now.
    pub(super) fn end(&mut self, ended: Ended) -> Outcome {
        if let Some(error) = ended.error() {
            return Outcome { error: Some(error.to_owned()), ..Outcome::default() };
        }
        if !self.good() {
            let error = Some(format!("execd answered {}", self.status));
            return Outcome {
                error,
                said: Some(std::mem::take(&mut self.kept)),
                ..Outcome::default()
            };
        }
        match self.shows {
            Shows::Exit => self.exited(),
            Shows::Results => self.ran(),
            Shows::Content => done(json!({"content_hash": hex(self.content.clone())})),
            Shows::Entries => self.listed(),
            Shows::Done | Shows::Deleted => done(json!({})),
            Shows::Nothing => Outcome::default(),
        }
    }

    fn exited(&mut self) -> Outcome {
        self.events.finish(&mut |event| self.seen.exit(event));
        let id = self.seen.id.take().filter(|_| self.background);
        let exit = |code: i64| Some(json!({"exit_code": code}));
        match self.seen.failed {
            Some(Some(code)) => {
                let error = Some(format!("exit code {code}"));
                Outcome { output: exit(code), error, ..Outcome::default() }
            }
            Some(None) => failed("the command was not started"),
            None if !self.seen.complete => failed("the stream ended without an end of the command"),
            None if self.background => Outcome { id, ..Outcome::default() },
            None => Outcome { output: exit(0), ..Outcome::default() },
        }
    }

    fn ran(&mut self) -> Outcome {
        self.events.finish(&mut |event| self.seen.results(event));
        if self.events.lost || self.seen.unreadable {
            return failed("an event of the stream could not be read");
        }
        let error = match (self.seen.failed, self.seen.complete) {
            (Some(_), _) => Some("the code ended with an error".to_owned()),
            (None, false) => Some("the stream ended without an end of the code".to_owned()),
            (None, true) => None,
        };
        let (results, logs) = (self.seen.results.clone(), self.seen.logs.clone());
        let output = Some(json!({"result_hash": hex(results), "logs_hash": hex(logs)}));
        Outcome { output, error, ..Outcome::default() }
    }

    fn listed(&self) -> Outcome {
        let entries = serde_json::from_slice::<Value>(&self.kept).ok().filter(|_| !self.too_long);
        let text = entries.and_then(|entries| serde_json_canonicalizer::to_vec(&entries).ok());
        let hash = |text| json!({"entries_hash": hex(Sha256::new_with_prefix(text))});
        Outcome { output: text.map(hash), ..Outcome::default() }
    }
}

impl Seen {
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
                self.unreadable |= !hash_line(&mut self.results, &results);
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
