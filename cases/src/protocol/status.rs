//! `status`: what a sandbox block comes to on this host, without running anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dialect, Document, WirePath};

/// What `status --request FILE` reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    /// Protocol version; see [`super::PROTOCOL`].
    pub protocol: u32,
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents; one, for a sandbox block.
    pub documents: Vec<Document>,
    /// The workspace (absolute).
    pub workspace: WirePath,
}

/// What a sandbox block comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// What becomes of a command.
    pub runs: Runs,
    /// Why it is refused or not confined although the mode asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The mode.
    pub mode: BlockMode,
    /// The backend as it is written, or by default.
    pub configured_backend: BlockBackend,
    /// What confines: a mechanism's name, or `none`.
    pub effective_backend: String,
    /// The network.
    pub network: BlockNetwork,
    /// Whether a command is refused where it cannot be confined.
    pub fail_closed: bool,
    /// The workspace's real path.
    pub workspace: WirePath,
    /// Where a confined command can write.
    pub writable_roots: Vec<WritableRoot>,
    /// What it cannot write although it lies in a writable root.
    pub protected: Vec<WirePath>,
    /// What it can write although it lies in something protected.
    pub artifacts: Vec<WirePath>,
    /// Variables that are kept although they look like credentials.
    pub env_passthrough: Vec<String>,
    /// What the backend in effect does not hold on this host, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// What becomes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// It runs in a sandbox.
    Confined,
    /// It runs without one.
    Unconfined,
    /// It does not run.
    Refused,
}

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockMode {
    /// No sandbox.
    #[default]
    Off,
    /// Nothing.
    ReadOnly,
    /// Workspace, temp folder and extra roots.
    WorkspaceWrite,
}

/// Which backend is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockBackend {
    /// Whichever confines on this system.
    #[default]
    Auto,
    /// Seatbelt, on macOS.
    MacosSeatbelt,
    /// Bubblewrap, on Linux.
    LinuxBubblewrap,
    /// None at all.
    None,
}

/// What the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockNetwork {
    /// There is none.
    #[default]
    Restricted,
    /// The host's.
    Enabled,
}

/// A writable root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WritableRoot {
    /// Why it is writable.
    pub kind: RootKind,
    /// As it is written; the workspace as it was given.
    pub written: String,
    /// Its real path.
    pub path: WirePath,
}

/// Why a root is writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// It is the workspace.
    Workspace,
    /// It is a temp folder.
    Tmp,
    /// The block names it.
    Extra,
}
