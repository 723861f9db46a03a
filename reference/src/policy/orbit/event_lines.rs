//! Events as a stream: one JSON object a line ([`EventLines`]).

use std::io::Write;

use serde_json::json;

use super::decide::PolicyOperation;
use super::tool_gate::{GateEvent, GateEventKind, GateEventSink};

/// A sink that writes every event before the gate continues.
#[derive(Debug)]
pub struct EventLines<W>(pub W);

impl<W: Write> GateEventSink for EventLines<W> {
    fn emit(&mut self, event: GateEvent) -> Result<(), String> {
        let line = json!({
            "kind": event.kind.event_name(),
            "profile": event.profile,
            "op": event.op.map(PolicyOperation::operation_name),
            "path": event.path,
            "allowed": event.allowed,
            "matched_rule": event.matched_rule,
        });
        let written = writeln!(self.0, "{line}").and_then(|()| self.0.flush());
        written.map_err(|error| format!("events: {error}"))
    }
}

impl GateEventKind {
    /// Its word in a stream.
    pub fn event_name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Result => "result",
            Self::Denied => "denied",
            Self::HarnessDelegated => "harness_delegated",
        }
    }
}
