//! The verb `explain`: a finished run, and whether the sandbox is why it failed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Blocked, Command, Policy, WirePath};

/// The input of `explain --request FILE`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The policy that was enforced.
    pub policy: Policy,
    /// The run that is over.
    pub finished: FinishedRun,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishedRun {
    /// The command that was executed.
    pub command: Command,
    /// The command as the user typed it, if `command` is a rewritten form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_command: Option<String>,
    /// The command's working directory (absolute).
    pub cwd: WirePath,
    /// The command's exit code; null when it died of a signal.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The signal the command died of.
    #[serde(default)]
    pub signal: Option<i32>,
    /// The number of packets that found no way out of the command's own network, if it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_routes: Option<u32>,
    /// The command's stdout.
    #[serde(default)]
    pub stdout: String,
    /// The command's stderr.
    #[serde(default)]
    pub stderr: String,
}

/// The answer of `explain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The denial, or null if the sandbox is not why the run failed.
    pub blocked: Option<Blocked>,
}
