//! The observation of a probe: [`Record`], and [`Event`] for moments on the way.
//!
//! The JSON form is closed: unknown, missing or superfluous members do not decode.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The one record of one probe run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct Record {
    /// The probe's name in the catalogue.
    pub probe: String,
    /// The outcome of the act.
    pub outcome: Outcome,
    /// Further observations; the README's table names the members that each probe fills.
    pub detail: Detail,
}

/// The outcome of the act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every call of the act succeeded.
    Succeeded,
    /// A call failed.
    Refused {
        /// Symbolic name, such as `EROFS`.
        errno: String,
        /// The call that failed, such as `openat`.
        call: String,
    },
    /// The process that made the calls was ended by a signal.
    Killed {
        /// Symbolic name, such as `SIGSYS`.
        signal: String,
    },
}

/// Named values seen on the way.
pub type Detail = BTreeMap<String, Value>;

/// One value of a [`Detail`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A count, size or identifier.
    Number(u64),
    /// Text, lossy where the source was not UTF-8, at most 4 KiB.
    Text(String),
    /// A list of names, at most 4096 of them.
    Names(Vec<String>),
}

/// A moment a probe announces while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Set up; signals and other stimuli may come now.
    Ready,
    /// A moment with a name of the case's own.
    Mark(String),
}

/// [`Record`] as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flat {
    probe: String,
    outcome: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errno: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    detail: Detail,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Succeeded,
    Refused,
    Killed,
}

impl From<Record> for Flat {
    fn from(record: Record) -> Self {
        let (outcome, errno, call, signal) = match record.outcome {
            Outcome::Succeeded => (Word::Succeeded, None, None, None),
            Outcome::Refused { errno, call } => (Word::Refused, Some(errno), Some(call), None),
            Outcome::Killed { signal } => (Word::Killed, None, None, Some(signal)),
        };
        Self { probe: record.probe, outcome, errno, call, signal, detail: record.detail }
    }
}

impl TryFrom<Flat> for Record {
    type Error = String;

    fn try_from(flat: Flat) -> Result<Self, String> {
        let outcome = match (flat.outcome, flat.errno, flat.call, flat.signal) {
            (Word::Succeeded, None, None, None) => Outcome::Succeeded,
            (Word::Refused, Some(errno), Some(call), None) if symbolic(&errno, "E") => {
                Outcome::Refused { errno, call }
            }
            (Word::Killed, None, None, Some(signal)) if symbolic(&signal, "SIG") => {
                Outcome::Killed { signal }
            }
            (word, ..) => return Err(format!("members do not fit outcome {word:?}")),
        };
        Ok(Self { probe: flat.probe, outcome, detail: flat.detail })
    }
}

/// Returns whether `name` looks like a symbolic constant that starts with `prefix`.
fn symbolic(name: &str, prefix: &str) -> bool {
    name.len() > prefix.len()
        && name.starts_with(prefix)
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}
