//! The declaration of an executor: YAML with a closed set of keys.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::envelope::Envelope;

/// One executor. In a document of its own it is `kind: Executor`; a short form has its keys alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Whose agent it is.
    pub provider: Provider,
    /// The program.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its configuration: one text a key.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// What confines it from outside.
    #[serde(default)]
    pub sandbox: Option<Outer>,
    /// Whether it is started without that where that is missing.
    #[serde(default)]
    pub allow_fallback: bool,
    /// What else it says, which is not for this program to do.
    #[serde(skip)]
    pub left: Vec<&'static str>,
}

/// Whose agent it is: each has a sandbox of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Configured by the key `sandbox`.
    Codex,
    /// None that is touched.
    Claude,
    /// Switched by `-s` or `--sandbox`.
    Gemini,
    /// Somebody's whose own sandbox is not known here.
    #[serde(skip)]
    Other,
}

/// What confines from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Outer {
    /// `sandbox-exec` of macOS.
    #[serde(rename = "macos-sandbox-exec")]
    MacosSandboxExec,
}

impl Declaration {
    /// The declaration that `text` of the file `name` is.
    ///
    /// # Errors
    /// What cannot be meant, with file, line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Kind {
            kind: Option<IgnoredAny>,
        }
        match serde_saphyr::from_str(text) {
            Ok(Kind { kind: Some(_) }) => Envelope::declared(name, text),
            _ => read(name, text),
        }
    }
}

pub(super) fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map(|at| format!("{}:{}: ", at.line(), at.column()));
        let what = error.without_snippet().to_string();
        let place = place.unwrap_or_default();
        format!("{name}:{place}{what}; see `refbox executor --help` for the keys")
    })
}
