//! The claims of a backend, as `capabilities` prints them and manifests state them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of the native verb `capabilities`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The backend's name.
    pub name: String,
    /// The backend's version.
    pub version: String,
    /// The mechanism `auto` selects on this host.
    pub mechanism: String,
    /// Every mechanism that works on this host.
    #[serde(default)]
    pub mechanisms: Vec<String>,
    /// Capability → level, as found on this host. An absent capability is not claimed.
    pub claims: BTreeMap<String, ClaimLevel>,
    /// Known limits, one sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
}

/// The extent to which a capability is claimed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ClaimLevel {
    /// Not claimed: cases that need it are unsupported.
    #[default]
    None,
    /// Claimed with stated limits: cases that need it are run.
    Partial,
    /// Claimed whole.
    Enforced,
}

impl ClaimLevel {
    /// The word for this level in manifests, requests and reports.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Enforced => "enforced",
        }
    }
}
