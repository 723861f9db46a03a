//! The grants that a shell line must get.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer to `decide: grants`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantsExpect {
    /// The grants inferred from the line: all of them, in any order.
    pub granted: Vec<String>,
    /// The subcommand of git that changes a repository; not compared if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcommand: Option<String>,
}
