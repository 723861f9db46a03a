//! What `grants` is asked: which grant shell lines give themselves; and what it answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WirePath;

/// What `grants --request FILE` reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantsRequest {
    /// Protocol version; see [`super::PROTOCOL`].
    pub protocol: u32,
    /// The workspace (absolute).
    pub workspace: WirePath,
    /// Where the lines are started; in the workspace by default (absolute).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<WirePath>,
    /// The lines for `/bin/sh -c`, letter for letter; each has one answer, in this order.
    pub lines: Vec<String>,
}

/// What one line grants itself under a policy that protects and infers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferredGrants {
    /// The grants, as in [`super::Policy::grants`].
    pub granted: Vec<String>,
    /// The subcommand of git that changes a repository, granted or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcommand: Option<String>,
    /// Why, for a person.
    pub because: String,
}
