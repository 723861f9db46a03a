//! Settings files of a sandbox (one table of a TOML document): the requests of `run`, `settings`
//! and `decide-ask`, and the answers of the last two.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Document, Run, WirePath};

/// A language of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingsDialect {
    /// The table `[sandbox]` of caliban's settings.
    Caliban,
}

/// The source that counts where the two sources differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Hash)]
#[serde(rename_all = "snake_case")]
pub enum SourcePrecedence {
    /// The architecture decision record: paths have variables, a domain list without a proxy is a
    /// warning, the Ask prompt is skipped if the sandbox makes it needless.
    #[default]
    Adr,
    /// The program's current code: paths are taken literally, a domain list without a proxy is an
    /// error, every Ask is asked.
    Head,
}

/// The session that settings are read in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The values of `${NAME}` besides `${WORKSPACE}`; by default this process's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<BTreeMap<String, String>>,
    /// The system that is asked about; by default the one that this runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<SettingsPlatform>,
    /// The session's name, which a profile file is called by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingsPlatform {
    /// Linux, also that of WSL 2.
    Linux,
    /// macOS.
    Macos,
    /// Windows itself.
    Windows,
    /// WSL 1, which has no Linux kernel.
    Wsl1,
}

/// The input of `run --request FILE` in place of a run request, if the rules are
/// settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsRunRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the settings.
    pub dialect: SettingsDialect,
    /// The reading of the document.
    #[serde(default)]
    pub reading: SourcePrecedence,
    /// The settings file, one.
    pub documents: Vec<Document>,
    /// The workspace, `${WORKSPACE}` (absolute). It is granted nothing by itself.
    pub workspace: WirePath,
    /// The session's name, which a profile file is called by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The run. The command itself decides whether it bypasses the sandbox, never its
    /// `original_command`.
    pub run: Run,
}

/// The input of `settings --request FILE`, which asks for the effective values of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the settings.
    pub dialect: SettingsDialect,
    /// The reading of the document.
    #[serde(default)]
    pub reading: SourcePrecedence,
    /// The settings file, one.
    pub documents: Vec<Document>,
    /// The workspace, `${WORKSPACE}` (absolute).
    pub workspace: WirePath,
    /// The session that the settings are read in.
    #[serde(default)]
    pub session: Session,
}

/// The input of `decide-ask --request FILE`: many commands under the same settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideAskRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The language of the settings.
    pub dialect: SettingsDialect,
    /// The reading of the document.
    #[serde(default)]
    pub reading: SourcePrecedence,
    /// The settings file, one.
    pub documents: Vec<Document>,
    /// The workspace, `${WORKSPACE}` (absolute).
    pub workspace: WirePath,
    /// The session that the settings are read in.
    #[serde(default)]
    pub session: Session,
    /// The commands; each has one answer, in this order.
    pub commands: Vec<AskQuestion>,
}

/// One command, and what else bears on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskQuestion {
    /// The line for `/bin/sh -c`, letter for letter.
    pub command: String,
    /// The decision of the permission rules on the command.
    #[serde(default)]
    pub rules: Permission,
    /// True if the session only plans.
    #[serde(default)]
    pub plan: bool,
}

/// The decision on a command.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The command is not run.
    Deny,
    /// A person is asked first.
    #[default]
    Ask,
    /// The command is run.
    Allow,
}

impl Permission {
    /// Returns the permission's word.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// The decision on one command, and its basis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskDecision {
    /// The decision.
    pub decision: Permission,
    /// The basis of the decision.
    pub by: AskBy,
    /// True if the command is run in the sandbox, once it is run.
    pub sandboxed: bool,
    /// The pattern that takes it out of the sandbox, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypassed_by: Option<String>,
}

/// The basis of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskBy {
    /// The permission rules.
    Rules,
    /// The sandbox, which makes asking needless.
    AutoAllow,
    /// The session only plans.
    Plan,
}

/// The effective settings: every value with its default filled in and its variables replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveSettings {
    /// True if commands are confined here and now.
    pub active: bool,
    /// True if a confined command has no way to the network at all.
    pub egress_denied: bool,
    /// True if the sandbox makes asking needless.
    pub auto_allows: bool,
    /// The path that the profile is written to, on systems that have one.
    pub profile_path: Option<String>,
    /// Warnings for a person, a sentence each.
    pub warnings: Vec<String>,
    /// `enabled`.
    pub enabled: bool,
    /// `fail_if_unavailable`.
    pub fail_if_unavailable: bool,
    /// `auto_allow_bash_if_sandboxed`.
    pub auto_allow_bash_if_sandboxed: bool,
    /// `allow_unsandboxed_commands`.
    pub allow_unsandboxed_commands: Vec<String>,
    /// `enable_weaker_nested_sandbox`.
    pub enable_weaker_nested_sandbox: bool,
    /// `bwrap_path`.
    pub bwrap_path: Option<String>,
    /// `sandbox_exec_path`.
    pub sandbox_exec_path: Option<String>,
    /// `[sandbox.filesystem]`.
    pub filesystem: EffectivePaths,
    /// `[sandbox.network]`.
    pub network: EffectiveNetwork,
    /// `[sandbox.env]`.
    pub env: EffectiveEnv,
}

/// `[sandbox.filesystem]`: a deny counts for more than a grant, wherever either stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectivePaths {
    /// The readable paths besides the system.
    pub allow_read: Vec<String>,
    /// The paths that can be neither read nor written.
    pub deny_read: Vec<String>,
    /// The paths that can be written and read.
    pub allow_write: Vec<String>,
    /// The paths that cannot be written.
    pub deny_write: Vec<String>,
}

/// `[sandbox.network]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveNetwork {
    /// `allowed_domains`.
    pub allowed_domains: Vec<String>,
    /// `denied_domains`.
    pub denied_domains: Vec<String>,
    /// `http_proxy_port`; 0 is none.
    pub http_proxy_port: u16,
    /// `socks_proxy_port`; 0 is none.
    pub socks_proxy_port: u16,
    /// `allow_all_outbound`.
    pub allow_all_outbound: bool,
    /// `allow_unix_sockets`.
    pub allow_unix_sockets: bool,
    /// `allow_local_binding`.
    pub allow_local_binding: bool,
    /// `allow_mach_lookup`.
    pub allow_mach_lookup: Vec<String>,
}

/// `[sandbox.env]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveEnv {
    /// `scrub_secrets`.
    pub scrub_secrets: bool,
    /// `passthrough`.
    pub passthrough: Vec<String>,
}
