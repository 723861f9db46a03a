//! `status`: the status of a sandbox block on this host, without running anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dialect, Document, WirePath};

/// The input of `status --request FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents; one, for a sandbox block.
    pub documents: Vec<Document>,
    /// The workspace (absolute).
    pub workspace: WirePath,
}

/// The status that follows from a sandbox block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The fate of a command.
    pub runs: CommandFate,
    /// The reason why a command is refused, or not confined although the mode asks for confinement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The mode.
    pub mode: BlockMode,
    /// The backend as it is written, or by default.
    pub configured_backend: BlockBackend,
    /// The confining mechanism: its name, or `none`.
    pub effective_backend: String,
    /// The network.
    pub network: BlockNetwork,
    /// True if a command is refused if it cannot be confined.
    pub fail_closed: bool,
    /// The workspace's real path.
    pub workspace: WirePath,
    /// The roots that a confined command can write in.
    pub writable_roots: Vec<WritableRoot>,
    /// The paths in a writable root that the command cannot write.
    pub protected: Vec<WirePath>,
    /// The paths in something protected that the command can write.
    pub artifacts: Vec<WirePath>,
    /// Variables that are kept although they look like credentials.
    pub env_passthrough: Vec<String>,
    /// The limits of the backend in effect on this host, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// The fate of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandFate {
    /// The command runs in a sandbox.
    Confined,
    /// The command runs without a sandbox.
    Unconfined,
    /// The command does not run.
    Refused,
}

/// The extent to which the file system is writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockMode {
    /// No sandbox.
    #[default]
    Off,
    /// Nothing.
    ReadOnly,
    /// Workspace, directory for temporary files and extra roots.
    WorkspaceWrite,
}

/// The backend that is asked for.
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

/// The network mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockNetwork {
    /// No network.
    #[default]
    Restricted,
    /// The host's.
    Enabled,
}

/// A writable root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WritableRoot {
    /// The reason why the root is writable.
    pub kind: RootKind,
    /// The root as written; the workspace as given.
    pub written: String,
    /// The root's real path.
    pub path: WirePath,
}

/// The reason why a root is writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// The workspace.
    Workspace,
    /// A directory for temporary files.
    Tmp,
    /// The block names it.
    Extra,
}
