//! The expected status of a sandbox block, as far as a case asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{BlockBackend, BlockMode, BlockNetwork, CommandFate, RootKind, Status};

/// Members of a status; members that are left out are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusExpect {
    /// The expected fate of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<CommandFate>,
    /// Texts that the reason has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reason: Vec<String>,
    /// The mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<BlockMode>,
    /// The backend as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configured_backend: Option<BlockBackend>,
    /// True if nothing confines (true) or something does (false); the mechanism's name is the
    /// backend's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_none: Option<bool>,
    /// The network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<BlockNetwork>,
    /// True if the backend fails closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_closed: Option<bool>,
    /// The workspace's real path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The real paths of workspace and extra roots, all of them and in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// True if a directory for temporary files is writable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmp: Option<bool>,
    /// Protected paths that are named, among others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The artifact directories, all of them and in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<String>>,
    /// The variables that are kept, all of them and in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_passthrough: Option<Vec<String>>,
}

impl StatusExpect {
    /// Returns whether the status keeps a command from running.
    pub fn is_negative(&self) -> bool {
        self.runs == Some(CommandFate::Refused)
    }

    /// Returns the first member that differs in `found`: its name, the found value and the expected
    /// value.
    pub fn differs(&self, found: &Status) -> Option<(&'static str, String, String)> {
        let none = found.effective_backend == "none";
        let roots = found.writable_roots.iter().filter(|root| root.kind != RootKind::Tmp);
        let roots = roots.map(|root| shown(&root.path)).collect();
        let tmp = found.writable_roots.iter().any(|root| root.kind == RootKind::Tmp);
        let protected: Vec<String> = found.protected.iter().map(shown).collect();
        let reason = found.reason.clone().unwrap_or_default();
        let lacks = |texts: &[String], has: &dyn Fn(&String) -> bool| {
            texts.iter().find(|text| !has(text)).cloned()
        };
        let missing = lacks(&self.protected, &|path| protected.contains(path));
        let unsaid = lacks(&self.reason, &|text| reason.contains(text.as_str()));
        [
            other("runs", &self.runs, &found.runs),
            unsaid.map(|text| ("reason", reason.clone(), text)),
            other("mode", &self.mode, &found.mode),
            other("configured_backend", &self.configured_backend, &found.configured_backend),
            other("effective_none", &self.effective_none, &none),
            other("network", &self.network, &found.network),
            other("fail_closed", &self.fail_closed, &found.fail_closed),
            other("workspace", &self.workspace, &shown(&found.workspace)),
            other("roots", &self.roots, &roots),
            other("tmp", &self.tmp, &tmp),
            missing.map(|path| ("protected", format!("{protected:?}"), path)),
            other("artifacts", &self.artifacts, &found.artifacts.iter().map(shown).collect()),
            other("env_passthrough", &self.env_passthrough, &found.env_passthrough),
        ]
        .into_iter()
        .flatten()
        .next()
    }
}

fn shown(path: &crate::protocol::WirePath) -> String {
    path.as_path().display().to_string()
}

fn other<T: PartialEq + std::fmt::Debug>(
    name: &'static str,
    wanted: &Option<T>,
    found: &T,
) -> Option<(&'static str, String, String)> {
    let wanted = wanted.as_ref().filter(|wanted| *wanted != found)?;
    Some((name, format!("{found:?}"), format!("{wanted:?}")))
}
