//! The check of a frame's bytes, which become an event to sign, or the reason for none.

use boxproof_cases::protocol::ObjectsOnly;
use serde::Deserialize as _;
use serde_json::Value;

use super::canonical;
use super::frame::{EventFrame, SandboxBinding};
use super::ijson;
use super::time;

/// The most bytes of a name or id.
const NAME: usize = 256;
/// The most bytes of `target_resource`.
const RESOURCE: usize = 4096;
const ENDPOINTS: [&str; 5] = ["/command", "/code", "/files", "/directories", "/pty"];

/// A checked frame without its payloads, which are hashes from here on.
#[derive(Debug)]
pub(crate) struct AcceptedEvent {
    pub(crate) frame: EventFrame,
    pub(crate) place: ChainSelector,
    pub(crate) parameters_hash: Option<String>,
    pub(crate) response_hash: Option<String>,
}

/// The chain that an event belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChainSelector {
    Root,
    /// A chain below the root: `sandbox/…` or `agent/…`.
    Below(String),
}

/// Checks a frame and hashes its payloads.
pub(crate) fn accept(body: &[u8]) -> Result<AcceptedEvent, String> {
    let value = canonical::parse(body)?;
    ijson::check(body)?;
    let frame = EventFrame::deserialize(ObjectsOnly(value)).map_err(|error| error.to_string())?;
    let mut frame = without_empty(frame);
    check_lengths(&mut frame)?;
    check(&frame)?;
    let place = place(&mut frame)?;
    let or_null = |payload: Option<Value>| match fault!("receipts.absent-as-null") {
        true => payload.or(Some(Value::Null)),
        false => payload,
    };
    let hash =
        |payload: Option<Value>| or_null(payload).map(|value| canonical::hash(&value)).transpose();
    let parameters_hash = hash(frame.input.take())?;
    let response_hash = hash(frame.output.take())?;
    let response_hash = response_hash.filter(|_| !fault!("receipts.no-response-hash"));
    if let Some(coverage) = &mut frame.coverage {
        canonical::drop_nulls(coverage);
    }
    frame.usage.iter_mut().flat_map(|usage| usage.values_mut()).for_each(canonical::drop_nulls);
    if let Some(usage) = &mut frame.usage {
        usage.retain(|_, member| !member.is_null());
    }
    Ok(AcceptedEvent { frame, place, parameters_hash, response_hash })
}

/// Removes empty members: most emitters omit them, and an empty one means the same.
fn without_empty(mut frame: EventFrame) -> EventFrame {
    let EventFrame { action_type, error, .. } = &mut frame;
    let also = [action_type, error];
    for text in also {
        text.take_if(|text| text.is_empty());
    }
    for (_, text) in names(&mut frame) {
        text.take_if(|text| text.is_empty());
    }
    frame.target_resource.take_if(|text| text.is_empty());
    frame.tool.server.take_if(|text| text.is_empty());
    frame
}

/// The optional members that have the limit of a name.
fn names(frame: &mut EventFrame) -> [(&'static str, &mut Option<String>); 11] {
    [
        ("issuer_name", &mut frame.issuer_name),
        ("issuer_model", &mut frame.issuer_model),
        ("operator_id", &mut frame.operator_id),
        ("operator_name", &mut frame.operator_name),
        ("idempotency_key", &mut frame.idempotency_key),
        ("correlation_id", &mut frame.correlation_id),
        ("agent_id", &mut frame.agent_id),
        ("agent_type", &mut frame.agent_type),
        ("model", &mut frame.model),
        ("capture_method", &mut frame.capture_method),
        ("target_system", &mut frame.target_system),
    ]
}

fn check(frame: &EventFrame) -> Result<(), String> {
    if frame.v != "1" && !fault!("receipts.any-frame-version") {
        return Err(format!("v: {:?} is not a known version; use \"1\"", frame.v));
    }
    time::parse(&frame.ts_emit).ok_or("ts_emit: not an RFC 3339 time")?;
    let needed = [
        ("session_id", &frame.session_id),
        ("channel", &frame.channel),
        ("tool.name", &frame.tool.name),
    ];
    if let Some((name, _)) = needed.into_iter().find(|(_, text)| text.is_empty()) {
        return Err(format!("{name}: must not be empty"));
    }
    if let Some(count) = frame.drop_count.filter(|count| *count < 0) {
        return Err(format!("drop_count: {count} is negative"));
    }
    if frame.event_number == Some(0) {
        return Err("event_number: must be at least 1".to_owned());
    }
    if frame.coverage.as_ref().is_some_and(|coverage| !coverage.is_object()) {
        return Err("coverage: must be an object".to_owned());
    }
    check_pairs(frame)
}

fn check_lengths(frame: &mut EventFrame) -> Result<(), String> {
    let long = |text: &Option<String>, most: usize| text.as_ref().is_some_and(|t| t.len() > most);
    if let Some((name, _)) = names(frame).into_iter().find(|(_, text)| long(text, NAME)) {
        return Err(format!("{name}: more than {NAME} bytes"));
    }
    if long(&frame.target_resource, RESOURCE) {
        return Err(format!("target_resource: more than {RESOURCE} bytes"));
    }
    Ok(())
}

fn check_pairs(frame: &EventFrame) -> Result<(), String> {
    let halved = frame.target_system.is_some() != frame.target_resource.is_some();
    if halved && !fault!("receipts.half-a-target") {
        return Err("target_system and target_resource go together".to_owned());
    }
    if frame.operator_name.is_some() && frame.operator_id.is_none() {
        return Err("operator_name: needs operator_id".to_owned());
    }
    if frame.action_type.as_deref() == Some("unknown") && frame.target_system.is_none() {
        return Err("action_type: \"unknown\" needs target_system and target_resource".to_owned());
    }
    let odd = |id: &String| id.contains(['/', '\0']) && !fault!("receipts.any-agent-id");
    if frame.agent_id.as_ref().is_some_and(odd) {
        return Err("agent_id: must not hold \"/\" or NUL".to_owned());
    }
    Ok(())
}

/// Finds the chain; a sandbox's frame says in its binding which one it is.
fn place(frame: &mut EventFrame) -> Result<ChainSelector, String> {
    let Some(id) = frame.sandbox_id.clone() else {
        if frame.binding.is_some() {
            return Err("binding: needs sandbox_id, which the relay sets".to_owned());
        }
        let agent = frame.agent_id.as_ref();
        return Ok(
            agent.map_or(ChainSelector::Root, |id| ChainSelector::Below(format!("agent/{id}")))
        );
    };
    if !is_sandbox_id(&id) && !fault!("receipts.any-sandbox-id") {
        return Err("sandbox_id: 1 to 128 of A-Z a-z 0-9 . _ -".to_owned());
    }
    let bare = || SandboxBinding { sandbox_id: id.clone(), ..SandboxBinding::default() };
    let binding = frame.binding.get_or_insert_with(bare);
    if binding.sandbox_id != id {
        return Err(format!("binding.sandbox_id: {:?} is not {id:?}", binding.sandbox_id));
    }
    if binding.endpoint.as_ref().is_some_and(|e| !ENDPOINTS.contains(&e.as_str())) {
        return Err(format!("binding.endpoint: must be one of {}", ENDPOINTS.join(", ")));
    }
    Ok(ChainSelector::Below(format!("sandbox/{id}")))
}

/// Returns whether `id` is a valid sandbox id, and so a part of a chain's name.
pub(crate) fn is_sandbox_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=128).contains(&id.len()) && id.chars().all(allowed)
}

#[cfg(test)]
mod tests;
