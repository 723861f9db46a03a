//! The request of `run` whose rules are documents of a policy language.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Run, WirePath};

/// The profile that exists even if no document has it, and that applies if no profile is named.
pub const UNRESTRICTED_PROFILE: &str = "unrestricted";

/// The input of `run --request FILE` in place of a run request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents: the host's own first, then the workspace's; one only, for a sandbox block.
    pub documents: Vec<Document>,
    /// The command's profile, [`UNRESTRICTED_PROFILE`] by default; a sandbox block has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The directory that paths of the documents start at (absolute).
    pub workspace: WirePath,
    /// The run.
    pub run: Run,
}

/// A policy language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Policy v2 documents: profiles of read and modify rules, and denies.
    Orbit,
    /// A user's configuration file with a `sandbox` block.
    Inferoa,
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The document's name in errors: a path or a label.
    pub name: String,
    /// The document's text.
    pub text: String,
}
