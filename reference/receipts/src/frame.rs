//! A frame: an event as an emitter reports it, before anything is signed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most bytes a frame may have.
pub const MOST: usize = 1 << 20;

/// One event. `sandbox_id` is the relay's word, taken from a certificate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "members of a documented protocol, under its own names")]
pub struct EventFrame {
    pub v: String,
    pub ts_emit: String,
    pub session_id: String,
    pub channel: String,
    pub tool: CalledTool,
    pub decision: CallDecision,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_count: Option<i64>,
    /// The number of the event in its session, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture_method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_system: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<SandboxBinding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Value>,
}

/// The tool that the agent called.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CalledTool {
    /// Its name.
    pub name: String,
    /// The server that offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The decision about the call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallDecision {
    /// It went ahead.
    #[default]
    Allowed,
    /// It was refused.
    Denied,
    /// It is not known yet.
    Pending,
}

/// The sandbox of the event, and the surface at which it was observed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxBinding {
    /// The sandbox.
    pub sandbox_id: String,
    /// The family of endpoints, such as `/command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The place of observation, such as `ingress_egress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
}

/// Encodes a frame for the socket: its length, then its text.
pub fn encode(frame: &EventFrame) -> Result<Vec<u8>, String> {
    let text = serde_json::to_vec(frame).map_err(|error| error.to_string())?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= MOST);
    let length =
        length.ok_or_else(|| format!("{} bytes; a frame has {MOST} at most", text.len()))?;
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(text);
    Ok(bytes)
}
