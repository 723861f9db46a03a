//! The result of `run`, written atomically to `--result FILE`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClaimLevel, DenialEvent, InferredGrants, WirePath};

/// The result of a run. A refusal (`started: false`) cannot be confused with any command's exit
/// code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// Protocol version: 1.
    pub protocol: u32,
    /// True if the command was executed at all.
    pub started: bool,
    /// True only for a clean exit with code 0.
    pub success: bool,
    /// The command's exit code; null when it died of a signal or of a timeout, or never started.
    pub exit_code: Option<i32>,
    /// The signal the command died of.
    #[serde(default)]
    pub signal: Option<i32>,
    /// True if the command was ended because the time limit was reached.
    #[serde(default)]
    pub timed_out: bool,
    /// The signal to the backend that ended the run (`SIGTERM`, …).
    #[serde(default)]
    pub interrupted_by: Option<String>,
    /// Milliseconds from spawn to return.
    #[serde(default)]
    pub duration_ms: u64,
    /// The mechanism that enforced the policy.
    #[serde(default)]
    pub mechanism: String,
    /// Capability → how far it was enforced in this run.
    #[serde(default)]
    pub enforced: BTreeMap<String, ClaimLevel>,
    /// The grants inferred from the command's line besides those of the policy, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred: Option<InferredGrants>,
    /// The number of packets that found no way out of the command's own network; absent if the
    /// command ended well, shared the host's network or nothing counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_routes: Option<u32>,
    /// The structured explanation of a denial, if there is one.
    #[serde(default)]
    pub blocked: Option<Blocked>,
    /// The operations that the sandbox refused, in their order, whether the run failed or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<DenialEvent>,
    /// The number of refused operations that are not in `events`, as there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub events_cut: u64,
    /// Lines added to the command's stderr.
    #[serde(default)]
    pub annotations: Vec<String>,
    /// The limits of the sandbox on this host, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// The reason why the run could not be done as asked.
    #[serde(default)]
    pub error: Option<RunError>,
    /// Captured stdout as lossy text (`capture` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// Captured stderr as lossy text (`capture` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Captured stdout, base64 of the raw bytes (`capture` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_b64: Option<String>,
    /// Captured stderr, base64 of the raw bytes (`capture` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_b64: Option<String>,
    /// True if captured output was cut at the cap (`capture` only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A denial, explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// The stage at which the denial was decided.
    pub stage: Stage,
    /// The rule that decided (`protected_metadata_write`, …).
    pub rule: String,
    /// The operation that was attempted (`write`, `connect`, …), if known.
    #[serde(default)]
    pub operation: Option<String>,
    /// The path of the attempt, if known.
    #[serde(default)]
    pub path: Option<WirePath>,
    /// One sentence for a person.
    pub reason: String,
    /// The remedy.
    #[serde(default)]
    pub suggested_action: Option<String>,
    /// Further refusals, which are not the reason why the run failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoBlocked>,
}

/// A denial beside the one that a run failed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlsoBlocked {
    /// The rule that decided.
    pub rule: String,
    /// The operation that was attempted, if known.
    #[serde(default)]
    pub operation: Option<String>,
    /// The path of the attempt, if known.
    #[serde(default)]
    pub path: Option<WirePath>,
}

/// The stage at which a denial was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Before a sandbox was looked for.
    Preflight,
    /// While the sandbox was set up: nothing was started.
    BackendSetup,
    /// While the command ran.
    Runtime,
}

/// The reason why a run could not be done as asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// One sentence, with what to do about it.
    pub message: String,
    /// The document at fault, if any.
    #[serde(default)]
    pub file: Option<WirePath>,
    /// The line in it (from 1).
    #[serde(default)]
    pub line: Option<u64>,
}

/// Kinds of [`RunError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request or a policy document is not well-formed.
    InvalidRequest,
    /// The policy cannot be enforced here, by this mechanism.
    Unsupported,
    /// The mechanism is missing or switched off on this host.
    Unavailable,
    /// The sandbox could not be set up.
    Setup,
    /// The program could not be spawned.
    Spawn,
    /// The command's stdin could not be written.
    Stdin,
    /// Waiting for the command failed.
    Wait,
}
