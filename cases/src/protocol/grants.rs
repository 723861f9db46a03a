//! The request and the answer of `grants`: the grants that are inferred from shell lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WirePath;

/// The input of `grants --request FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantsRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The workspace (absolute).
    pub workspace: WirePath,
    /// The directory that the lines are started in; by default the workspace (absolute).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<WirePath>,
    /// The lines for `/bin/sh -c`, letter for letter; each has one answer, in this order.
    pub lines: Vec<String>,
}

/// The grants that are inferred from one line under a policy that protects and infers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferredGrants {
    /// The grants, as in `grants` of a policy.
    pub granted: Vec<String>,
    /// The subcommand of git that changes a repository, granted or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcommand: Option<String>,
    /// The reason, for a person.
    pub because: String,
}
