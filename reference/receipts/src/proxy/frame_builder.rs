//! The conversion of events into frames, on the thread that sends: no agent waits for it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::debt_journal::DebtJournal;
use super::event_sink::{ActionRecord, QueuedEvent, RESOURCE};
use super::routes::EndpointFamily;
use crate::frame::{CalledTool, EventFrame, SandboxBinding};

/// The longest `target_system`.
const SYSTEM: usize = 256;

/// The members that all frames of a proxy have in common.
pub(super) struct FrameBuilder {
    account: Arc<DebtJournal>,
    sandbox: String,
    /// The sandbox was named by the caller, so that the relay must compare.
    claims: bool,
    coverage: Value,
}

impl FrameBuilder {
    /// Frames of the session of an account.
    pub(super) fn new(account: Arc<DebtJournal>, sandbox: String, claims: bool) -> Self {
        Self { account, sandbox, claims, coverage: coverage() }
    }

    /// The frames of an event, with numbers.
    pub(super) fn frames(&self, event: QueuedEvent) -> Vec<EventFrame> {
        let at = event.at.to_string();
        let (told, owed) = event.into_records();
        let frames = told.into_iter().map(|told| self.frame(&at, told)).collect();
        drop(owed);
        frames
    }

    fn frame(&self, at: &str, told: ActionRecord) -> EventFrame {
        let name = told.family.map_or("unknown", EndpointFamily::name);
        let (system, resource) = told.target.and_then(bounded).unzip();
        EventFrame {
            v: "1".to_owned(),
            ts_emit: at.to_owned(),
            session_id: self.account.session().to_owned(),
            event_number: Some(self.account.number()),
            channel: "opensandbox_execd".to_owned(),
            tool: CalledTool { name: name.to_owned(), server: Some("execd".to_owned()) },
            decision: told.decision,
            action_type: Some(told.action),
            input: told.input,
            output: told.output,
            error: told.error,
            correlation_id: told.correlation,
            target_system: system,
            target_resource: resource,
            sandbox_id: self.claims.then(|| self.sandbox.clone()),
            binding: Some(SandboxBinding {
                sandbox_id: self.sandbox.clone(),
                endpoint: told.family.map(|family| format!("/{}", family.name())),
                placement: None,
            }),
            coverage: Some(self.coverage.clone()),
            ..EventFrame::default()
        }
    }
}

/// Returns the surfaces that this proxy covers, and those of execd that it only knows as `unknown`,
/// or refuses.
fn coverage() -> Value {
    json!({
        "covers": ["command", "code", "files", "directories", "pty"],
        "excludes": ["code_contexts", "interrupts", "sessions", "port_proxy"],
        "placement": "execd",
        "opensandbox_version": "unknown",
    })
}

/// A target of the lengths that a frame may have; a longer resource is left out, never cut.
fn bounded((system, resource): (String, String)) -> Option<(String, String)> {
    let end = (0..=system.len().min(SYSTEM)).rev().find(|at| system.is_char_boundary(*at));
    let system = system[..end.unwrap_or(0)].to_owned();
    (resource.len() <= RESOURCE && !resource.is_empty()).then_some((system, resource))
}
