//! A refused operation of a command: [`DenialEvent`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WirePath;

/// One operation that the sandbox refused, as one JSON object: in the result, and a line each where a
/// caller follows the run. Values of secret variables are in none of its members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DenialEvent {
    /// The operation (`write`, `read`, `connect`).
    pub operation: String,
    /// The path that it came to, with no link and no `..` left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<WirePath>,
    /// The address that it did not reach: `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The system call (`openat`), where a call was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_call: Option<String>,
    /// The error that the call got (`EACCES`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<String>,
    /// The rule that refused it, one of those of `blocked`.
    pub rule: String,
    /// The process that called, by its number among the processes of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The name of that process, as `/proc/PID/comm` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The time of the refusal, in nanoseconds of the clock `CLOCK_MONOTONIC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monotonic_ns: Option<u64>,
    /// The change that would let it be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_action: Option<String>,
    /// The evidence.
    pub source: EventSource,
}

/// The evidence of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    /// The call itself, as the kernel handed it over.
    Kernel,
    /// The proxy that is the only way out of the command's network.
    Proxy,
    /// The output, the command line and the exit code of the command.
    Text,
}
