//! The observation of a probe: [`ProbeRecord`], and [`ProbeEvent`] for moments on the way.
//!
//! The JSON form is closed: unknown, missing or superfluous members do not decode.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The one record of one probe run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FlatRecord", into = "FlatRecord")]
pub struct ProbeRecord {
    /// The probe's name in the catalogue.
    pub probe: String,
    /// The outcome of the act.
    pub outcome: ActOutcome,
    /// Further observations; the README's table names the members that each probe fills.
    pub detail: RecordDetail,
}

/// The outcome of the act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActOutcome {
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
pub type RecordDetail = BTreeMap<String, DetailValue>;

/// One value of a [`RecordDetail`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DetailValue {
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
pub enum ProbeEvent {
    /// Set up; signals and other stimuli may come now.
    Ready,
    /// A moment with a name of the case's own.
    Mark(String),
}

/// [`ProbeRecord`] as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlatRecord {
    probe: String,
    outcome: OutcomeWord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errno: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(default, skip_serializing_if = "RecordDetail::is_empty")]
    detail: RecordDetail,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeWord {
    Succeeded,
    Refused,
    Killed,
}

impl From<ProbeRecord> for FlatRecord {
    fn from(record: ProbeRecord) -> Self {
        let (outcome, errno, call, signal) = match record.outcome {
            ActOutcome::Succeeded => (OutcomeWord::Succeeded, None, None, None),
            ActOutcome::Refused { errno, call } => {
                (OutcomeWord::Refused, Some(errno), Some(call), None)
            }
            ActOutcome::Killed { signal } => (OutcomeWord::Killed, None, None, Some(signal)),
        };
        Self { probe: record.probe, outcome, errno, call, signal, detail: record.detail }
    }
}

impl TryFrom<FlatRecord> for ProbeRecord {
    type Error = String;

    fn try_from(flat: FlatRecord) -> Result<Self, String> {
        let outcome = match (flat.outcome, flat.errno, flat.call, flat.signal) {
            (OutcomeWord::Succeeded, None, None, None) => ActOutcome::Succeeded,
            (OutcomeWord::Refused, Some(errno), Some(call), None) if symbolic(&errno, "E") => {
                ActOutcome::Refused { errno, call }
            }
            (OutcomeWord::Killed, None, None, Some(signal)) if symbolic(&signal, "SIG") => {
                ActOutcome::Killed { signal }
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
