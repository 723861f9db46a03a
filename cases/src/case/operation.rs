//! An attempt under a compiled profile: one deed, and the host object that it acts on.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing a command could try.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ObjectOperation {
    /// Read the content of a file, or list a directory.
    Read,
    /// Change the content of an existing file.
    Write,
    /// Make a file where nothing is.
    Create,
    /// Remove a file.
    Remove,
    /// Rename a file or directory within its parent directory: to its own name and `.moved`.
    Move,
    /// Execute a file.
    Run,
    /// Connect to `host:port`, or to a unix socket by its path.
    Connect,
    /// Ask for a Mach service by its name.
    Lookup,
}

impl ObjectOperation {
    /// Every deed.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Create,
        Self::Remove,
        Self::Move,
        Self::Run,
        Self::Connect,
        Self::Lookup,
    ];

    /// The word a case uses for it.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Remove => "remove",
            Self::Move => "move",
            Self::Run => "run",
            Self::Connect => "connect",
            Self::Lookup => "lookup",
        }
    }
}

/// A deed, and what it is done to: the host's object, not a private one that bears its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationAttempt {
    /// The deed.
    pub deed: ObjectOperation,
    /// A path (below the workspace unless absolute), an address or a name.
    pub object: String,
}

impl fmt::Display for OperationAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.deed.keyword(), self.object)
    }
}
