//! The judge's conclusion from one case ([`Verdict`]), and that conclusion set against the
//! backend's known failures ([`Outcome`]).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The finding about one backend from one case. The order is the order of every report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Control could, twin could (if any), confined did exactly what is expected, oracles agree.
    Pass,
    /// A denied or contained effect happened.
    UnderBlock,
    /// An allowed act, or the twin, was refused.
    OverBlock,
    /// The decision was right, but exit code, streams, annotation, rule or timing were not.
    Contract,
    /// Something outlived the run or crossed into it.
    Leak,
    /// The backend does what it does not claim; told, and no failure.
    Contradiction,
    /// The backend does not do what it does not claim.
    Gap,
    /// Nothing was learnt.
    Inconclusive,
    /// An effect could not be read.
    ProbeBroken,
    /// The backend does not claim a capability the case needs.
    Unsupported,
    /// The host lacks a fact the case needs.
    NotApplicable,
    /// Left out on purpose.
    Skipped,
    /// The backend could not be set up, or the harness is at fault.
    Error,
}

impl Verdict {
    /// Every verdict, in report order.
    pub const ALL: [Self; 13] = [
        Self::Pass,
        Self::UnderBlock,
        Self::OverBlock,
        Self::Contract,
        Self::Leak,
        Self::Contradiction,
        Self::Gap,
        Self::Inconclusive,
        Self::ProbeBroken,
        Self::Unsupported,
        Self::NotApplicable,
        Self::Skipped,
        Self::Error,
    ];

    /// The word for this verdict in records and reports.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::UnderBlock => "under-block",
            Self::OverBlock => "over-block",
            Self::Contract => "contract",
            Self::Leak => "leak",
            Self::Contradiction => "contradiction",
            Self::Gap => "gap",
            Self::Inconclusive => "inconclusive",
            Self::ProbeBroken => "probe-broken",
            Self::Unsupported => "unsupported",
            Self::NotApplicable => "not-applicable",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }

    /// Returns whether the backend was seen to break its promise.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::UnderBlock | Self::OverBlock | Self::Contract | Self::Leak)
    }

    /// Returns whether the case taught anything about the backend: a pass or a failure.
    #[must_use]
    pub fn is_judged(self) -> bool {
        self == Self::Pass || self.is_failure()
    }

    /// Returns whether the run failed to learn what it set out to learn.
    #[must_use]
    pub fn is_unlearnt(self) -> bool {
        matches!(self, Self::Inconclusive | Self::ProbeBroken | Self::Error)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.keyword())
    }
}

/// A verdict set against the known failures of its backend.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing to act on.
    Expected,
    /// Not what is promised, and not what is known either.
    Unexpected,
    /// A known failure that failed as known.
    Xfail,
    /// A known failure that passed: the list of known failures is out of date.
    Xpass,
    /// The case passed, and an earlier try of the same run did not.
    Flaky,
}

impl Outcome {
    /// Every outcome, in order.
    pub const ALL: [Self; 5] =
        [Self::Expected, Self::Unexpected, Self::Xfail, Self::Xpass, Self::Flaky];

    /// The word for this outcome in records and reports.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Unexpected => "unexpected",
            Self::Xfail => "xfail",
            Self::Xpass => "xpass",
            Self::Flaky => "flaky",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.keyword())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_serialized_form_and_all_is_complete() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.keyword());
        }
        let words = "pass under-block over-block contract leak contradiction gap inconclusive \
                     probe-broken unsupported not-applicable skipped error";
        assert_eq!(Verdict::ALL.map(Verdict::keyword).join(" "), words);
        assert!(Verdict::ALL.is_sorted());
        for outcome in Outcome::ALL {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.keyword());
        }
    }

    #[test]
    fn failures_and_judged_are_the_documented_sets() {
        let words = |keep: fn(Verdict) -> bool| -> Vec<&str> {
            Verdict::ALL.into_iter().filter(|v| keep(*v)).map(Verdict::keyword).collect()
        };
        assert_eq!(words(Verdict::is_failure), ["under-block", "over-block", "contract", "leak"]);
        assert_eq!(
            words(Verdict::is_judged),
            ["pass", "under-block", "over-block", "contract", "leak"]
        );
        assert_eq!(words(Verdict::is_unlearnt), ["inconclusive", "probe-broken", "error"]);
    }
}
