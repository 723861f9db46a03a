//! Oracles: facts the harness sees from outside the sandbox.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One fact to look at after an arm has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Oracle {
    /// This path is unchanged: type, bytes, mode, owner, times, links, inode, attributes.
    Unchanged(String),
    /// Nothing is at this path.
    Absent(String),
    /// Something is at this path.
    Exists(String),
    /// The file at this path holds exactly this text.
    Content(Content),
    /// This text appears in no stream, no listener and no host-visible file the act could write.
    Undisclosed(String),
    /// Nothing of the act arrived at this listener.
    Unreached(String),
    /// Something of the act arrived at this listener.
    Reached(String),
    /// This victim got no signal, was not traced, and still runs.
    Untouched(String),
    /// Nothing the act started outlives the run.
    NoSurvivors(Survivors),
    /// Nothing was typed into the launcher's terminal.
    Untyped(NoSettings),
    /// The mounts the harness sees are what they were.
    MountsUnchanged(NoSettings),
    /// The launcher's terminal showed this text.
    Displayed(String),
    /// The launcher's terminal did not show this text.
    Undisplayed(String),
    /// The launcher's terminal has the settings it had.
    TerminalRestored(NoSettings),
}

/// The ways to find survivors, besides the traces that every process has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Survivors {
    /// A file that the act's processes add to: its growth shows a process that is out of sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<String>,
}

/// A file and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The path of the file.
    pub path: String,
    /// The whole text.
    pub equals: String,
}

/// `{}`: an oracle without settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

impl Oracle {
    /// Returns whether the oracle asks that something happened; a denial needs one that asks the
    /// opposite.
    pub fn is_positive(&self) -> bool {
        matches!(self, Self::Exists(_) | Self::Content(_) | Self::Reached(_) | Self::Displayed(_))
    }

    /// The strings a variable may stand in.
    pub fn strings(&self) -> Vec<&str> {
        match self {
            Self::Content(content) => vec![&content.path, &content.equals],
            Self::NoSurvivors(survivors) => {
                survivors.heartbeat.iter().map(String::as_str).collect()
            }
            Self::Untyped(_) | Self::MountsUnchanged(_) | Self::TerminalRestored(_) => Vec::new(),
            Self::Unchanged(text)
            | Self::Absent(text)
            | Self::Exists(text)
            | Self::Undisclosed(text)
            | Self::Unreached(text)
            | Self::Reached(text)
            | Self::Untouched(text)
            | Self::Displayed(text)
            | Self::Undisplayed(text) => vec![text],
        }
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged(path) => write!(f, "unchanged {path}"),
            Self::Absent(path) => write!(f, "absent {path}"),
            Self::Exists(path) => write!(f, "exists {path}"),
            Self::Content(content) => write!(f, "content {}", content.path),
            Self::Undisclosed(text) => write!(f, "undisclosed {text}"),
            Self::Unreached(listener) => write!(f, "unreached {listener}"),
            Self::Reached(listener) => write!(f, "reached {listener}"),
            Self::Untouched(victim) => write!(f, "untouched {victim}"),
            Self::NoSurvivors(_) => f.write_str("no survivors"),
            Self::Untyped(_) => f.write_str("untyped"),
            Self::MountsUnchanged(_) => f.write_str("mounts unchanged"),
            Self::Displayed(text) => write!(f, "displayed {text}"),
            Self::Undisplayed(text) => write!(f, "undisplayed {text}"),
            Self::TerminalRestored(_) => f.write_str("terminal restored"),
        }
    }
}
