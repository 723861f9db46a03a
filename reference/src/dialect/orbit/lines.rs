//! Events as a stream: one JSON object a line ([`EventLines`]).

use std::io::Write;

use serde_json::json;

use super::decide::Op;
use super::gate::{Event, EventKind, Sink};

/// A sink that writes every event before the gate continues.
#[derive(Debug)]
pub struct EventLines<W>(pub W);

impl<W: Write> Sink for EventLines<W> {
    fn emit(&mut self, event: Event) -> Result<(), String> {
        let line = json!({
            "kind": event.kind.word(),
            "profile": event.profile,
            "op": event.op.map(Op::word),
            "path": event.path,
            "allowed": event.allowed,
            "matched_rule": event.matched_rule,
        });
        let written = writeln!(self.0, "{line}").and_then(|()| self.0.flush());
        written.map_err(|error| format!("events: {error}"))
    }
}

impl EventKind {
    /// Its word in a stream.
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Result => "result",
            Self::Denied => "denied",
            Self::HarnessDelegated => "harness_delegated",
        }
    }
}
