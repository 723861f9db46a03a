//! Moments of a run that the harness sees, and bounds on the time between two of them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A moment of a run. The harness stamps each when it sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The backend is started.
    Start,
    /// The act says that it is ready.
    Ready,
    /// The act says this word: `$PROBE --nonce $NONCE mark --name=WORD`.
    Mark(String),
    /// The file at this path exists.
    File(String),
    /// The event of this number in `during`, from 1, is done.
    During(usize),
    /// The backend has ended.
    Exit,
}

impl Moment {
    /// The start, where a bound names no other.
    pub(super) fn start() -> Self {
        Self::Start
    }

    /// The end, where a bound names no other.
    pub(super) fn exit() -> Self {
        Self::Exit
    }

    /// Returns whether only the act's own output announces the moment.
    pub fn is_said(&self) -> bool {
        matches!(self, Self::Ready | Self::Mark(_))
    }

    /// The path in it, where a variable may stand.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Ready => f.write_str("ready"),
            Self::Mark(word) => write!(f, "mark {word}"),
            Self::File(path) => write!(f, "file {path}"),
            Self::During(number) => write!(f, "event {number}"),
            Self::Exit => f.write_str("exit"),
        }
    }
}

/// The allowed time between two moments. The moments must be in order, independent of the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeBound {
    /// The earlier moment; by default the start.
    #[serde(default = "Moment::start")]
    pub from: Moment,
    /// The later moment; by default the end.
    #[serde(default = "Moment::exit")]
    pub to: Moment,
    /// The minimum in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<u64>,
    /// The maximum in milliseconds, to which the tolerance that the README states is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u64>,
}

impl fmt::Display for TimeBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} to {}", self.from, self.to)
    }
}
