//! The declaration of an executor: YAML with a closed set of keys.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::envelope::ExecutorEnvelope;
use crate::error::clipped;
use crate::policy::yaml_document;

/// One executor. In a document of its own it is `kind: Executor`; a short form has its keys alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorDeclaration {
    /// Its name.
    pub name: String,
    /// The provider of the agent.
    pub provider: AgentProvider,
    /// The program.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its configuration: one text a key.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// The outer sandbox.
    #[serde(default)]
    pub sandbox: Option<OuterSandbox>,
    /// The agent starts without the sandbox where it is missing.
    #[serde(default)]
    pub allow_fallback: bool,
    /// Members of the document that are not for this program to act on.
    #[serde(skip)]
    pub left: Vec<&'static str>,
}

/// The provider of an agent: each has a sandbox of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentProvider {
    /// Configured by the key `sandbox`.
    Codex,
    /// None that is touched.
    Claude,
    /// Switched by `-s` or `--sandbox`.
    Gemini,
    /// A provider whose own sandbox is not known here.
    #[serde(skip)]
    Other,
}

/// The sandbox around an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum OuterSandbox {
    /// `sandbox-exec` of macOS.
    #[serde(rename = "macos-sandbox-exec")]
    MacosSandboxExec,
}

impl ExecutorDeclaration {
    /// Parses the declaration in `text`, the content of the file `name`.
    ///
    /// # Errors
    /// An invalid value, with file, line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct KindField {
            kind: Option<IgnoredAny>,
        }
        match serde_saphyr::from_str(text) {
            Ok(KindField { kind: Some(_) }) => ExecutorEnvelope::declared(name, text),
            _ => read(name, text),
        }
    }
}

pub(super) fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    yaml_document::read(text, "{command: codex}").map_err(|fault| {
        let place = fault.place.map(|(line, column)| format!("{line}:{column}: "));
        let (place, what) = (place.unwrap_or_else(|| " ".to_owned()), fault.message);
        clipped(&format!("{name}:{place}{what}; see `refbox executor --help` for the keys"))
    })
}
