//! The input and the answer of `executor --request FILE`: the start of an agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Document, SettingsPlatform, WirePath};

/// A declaration, and the machine that it is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The declaration, one.
    pub documents: Vec<Document>,
    /// The workspace (absolute).
    pub workspace: WirePath,
    /// The system that is asked about; by default the one that this runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<SettingsPlatform>,
    /// The confining programs of the machine; by default those that exist here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<WirePath>>,
}

/// The start of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorStart {
    /// Program and arguments, those of the outer sandbox first; `<profile.sb>` is its profile.
    pub argv: Vec<String>,
    /// The agent's configuration.
    pub config: BTreeMap<String, String>,
    /// True if the outer sandbox runs.
    pub enforced: bool,
    /// Directories that are made writable behind every deny, in order.
    pub side_roots: Vec<WirePath>,
    /// The warnings for a person.
    pub warnings: Vec<String>,
}
