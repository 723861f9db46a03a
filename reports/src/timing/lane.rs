//! Lanes, and the verdicts on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of cost.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TimingLane {
    /// System calls of the whole tree of processes, call by call.
    Counts,
    /// Minor page faults of the tree.
    Faults,
    /// The largest resident set of a process of the tree.
    Rss,
    /// Processor time of the tree, user and system.
    Cpu,
    /// Elapsed time.
    Wall,
}

impl TimingLane {
    /// Every lane, from the steadiest to the least steady.
    pub const ALL: [Self; 5] = [Self::Counts, Self::Faults, Self::Rss, Self::Cpu, Self::Wall];

    /// The word for this lane in records, policies and reports.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Counts => "counts",
            Self::Faults => "faults",
            Self::Rss => "rss",
            Self::Cpu => "cpu",
            Self::Wall => "wall",
        }
    }

    /// The share by which the new program may cost more.
    #[must_use]
    pub fn margin(self) -> f64 {
        match self {
            Self::Counts => 0.0,
            Self::Faults => 0.02,
            Self::Rss | Self::Cpu => 0.05,
            Self::Wall => 0.10,
        }
    }

    /// The distance from 1 within which the old program must stay against itself.
    #[must_use]
    pub fn control_margin(self) -> f64 {
        match self {
            Self::Counts => 0.0,
            Self::Faults => 0.01,
            Self::Rss | Self::Cpu => 0.03,
            Self::Wall => 0.05,
        }
    }
}

/// The conclusion on one lane of one measurement.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TimingVerdict {
    /// The whole interval lies above the margin.
    Regression,
    /// System calls differ, and the new program makes no more of them.
    Changed,
    /// The interval allows both, or the old program differs from itself.
    Inconclusive,
    /// The whole interval lies below the margin above, and not within the one below.
    NotWorse,
    /// The whole interval lies within the margin on both sides.
    Equivalent,
    /// The whole interval lies below the margin on the other side.
    Improvement,
    /// The lane cannot be measured here.
    Unavailable,
}

impl TimingVerdict {
    /// Every verdict, worst first.
    pub const ALL: [Self; 7] = [
        Self::Regression,
        Self::Changed,
        Self::Inconclusive,
        Self::NotWorse,
        Self::Equivalent,
        Self::Improvement,
        Self::Unavailable,
    ];

    /// The word for this verdict in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Changed => "changed",
            Self::Inconclusive => "inconclusive",
            Self::NotWorse => "not worse",
            Self::Equivalent => "equivalent",
            Self::Improvement => "improvement",
            Self::Unavailable => "unavailable",
        }
    }
}
