//! The requests of `check`, `effective` and `validate`: documents, and questions about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dialect, Document, UNRESTRICTED_PROFILE, WirePath};

fn unrestricted() -> String {
    UNRESTRICTED_PROFILE.to_owned()
}

/// The input of `check --request FILE`: many paths under one profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents: the host's own first, then the workspace's.
    pub documents: Vec<Document>,
    /// The profile, letter for letter; without one it is [`UNRESTRICTED_PROFILE`].
    #[serde(default = "unrestricted")]
    pub profile: String,
    /// The directory that paths start at, in which links are followed (absolute).
    pub workspace: WirePath,
    /// The paths; each has one answer, in this order.
    pub paths: Vec<PathQuestion>,
}

/// One path, and an operation on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathQuestion {
    /// The operation.
    pub op: Operation,
    /// The path, from the workspace down.
    pub path: WirePath,
}

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Read it.
    Read,
    /// Change, make or remove it.
    Modify,
}

impl Operation {
    /// Returns the operation's word.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Modify => "modify",
        }
    }
}

/// The input of `effective --request FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents: the host's own first, then the workspace's.
    pub documents: Vec<Document>,
    /// The profile, letter for letter; without one it is [`UNRESTRICTED_PROFILE`].
    #[serde(default = "unrestricted")]
    pub profile: String,
}

/// The input of `validate --request FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents: the host's own first, then the workspace's.
    pub documents: Vec<Document>,
}
