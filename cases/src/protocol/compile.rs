//! The request and the answer of `compile`: a policy as the text that another program enforces.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Dialect, Document, Policy, SettingsDialect, SettingsPlatform, SourcePrecedence, WirePath,
};

/// The mechanism that is to enforce a compiled policy.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CompileTarget {
    /// `bwrap`, by its arguments.
    Bubblewrap,
    /// `sandbox-exec`, by a profile.
    Seatbelt,
}

impl CompileTarget {
    /// Every target.
    pub const ALL: [Self; 2] = [Self::Bubblewrap, Self::Seatbelt];

    /// Returns the target's word.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Seatbelt => "seatbelt",
        }
    }

    /// The system that it is a part of.
    pub fn platform(self) -> SettingsPlatform {
        match self {
            Self::Bubblewrap => SettingsPlatform::Linux,
            Self::Seatbelt => SettingsPlatform::Macos,
        }
    }

    /// Returns the name of the target's operating system, as programs use it.
    pub fn system(self) -> &'static str {
        match self {
            Self::Bubblewrap => "linux",
            Self::Seatbelt => "macos",
        }
    }
}

/// The input of `compile --target TARGET --request FILE`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The rules to compile.
    pub rules: CompileRules,
    /// The command's working directory (absolute).
    pub cwd: WirePath,
    /// The environment that the command will have, as far as rules depend on it (`HOME`,
    /// `CODEX_HOME`, …).
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The rules to compile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompileRules {
    /// The neutral policy.
    Policy(Box<Policy>),
    /// A profile of documents of a policy language.
    Profile(CompileProfile),
    /// Settings of a sandbox.
    Settings(CompileSettings),
}

/// A profile of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileProfile {
    /// The language of the documents.
    pub dialect: Dialect,
    /// The documents: the host's own first, then the workspace's.
    pub documents: Vec<Document>,
    /// The profile, taken literally, if the language has profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The directory that paths of the documents start at (absolute).
    pub workspace: WirePath,
    /// Directories that an executor opens behind every deny (absolute, or from the workspace down).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_roots: Vec<WirePath>,
}

/// Settings of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileSettings {
    /// The language of the settings.
    pub dialect: SettingsDialect,
    /// The reading of the document.
    #[serde(default)]
    pub reading: SourcePrecedence,
    /// The settings file, one.
    pub documents: Vec<Document>,
    /// The workspace, `${WORKSPACE}` (absolute). It is granted nothing by itself.
    pub workspace: WirePath,
}

/// A compiled policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compiled {
    /// The text.
    pub text: CompiledText,
    /// Parameters of a profile that the caller gives (`-D NAME=VALUE`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<String>,
    /// Parameters of a profile whose values the compiler knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The limits of the compiled text, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// A compiled policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompiledText {
    /// The words of a command line up to `--`, after which the command comes.
    Argv(Vec<String>),
    /// A Seatbelt profile.
    Sbpl(String),
}

/// The parameter for the run's own directory for temporary files: the caller makes it, passes its
/// real path, and removes it afterwards.
pub const TMP_PARAM: &str = "TMP";
