//! An outcome of a race in a list of known failures, with the number of runs that showed it.

use std::num::NonZeroU32;

use boxproof_reports::Verdict;
use schemars::JsonSchema;
use serde::Deserialize;

use super::CaseOutcome;

/// One outcome of a race.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownOutcome {
    /// The verdict; `pass` is one, too.
    pub verdict: Verdict,
    /// The reason code the verdict comes with; a pass has none.
    #[serde(default)]
    pub signature: String,
    /// The number of runs that came to it; the sum over a row is the number of all runs.
    pub seen: NonZeroU32,
}

impl KnownOutcome {
    /// Returns whether `found` is this outcome.
    pub(super) fn is(&self, found: CaseOutcome<'_>) -> bool {
        (self.verdict, self.signature.as_str()) == (found.verdict, found.signature)
    }
}

/// Returns what is wrong with a failure that is always the same.
pub(super) fn fault(verdict: Verdict, signature: &str) -> Option<&'static str> {
    if !(verdict.is_failure() || verdict.is_unlearnt()) {
        return Some("only failures, inconclusive and error can be known");
    }
    signature.trim().is_empty().then_some("signature and reason say something")
}

/// Returns what is wrong with the outcomes of a race.
pub(super) fn fault_of_race(outcomes: &[KnownOutcome]) -> Option<&'static str> {
    let (passes, failures): (Vec<_>, Vec<_>) =
        outcomes.iter().partition(|outcome| outcome.verdict == Verdict::Pass);
    let is_again = |at: usize| {
        let outcome = &outcomes[at];
        let same = |other: &KnownOutcome| {
            (other.verdict, &other.signature) == (outcome.verdict, &outcome.signature)
        };
        outcomes[..at].iter().any(same)
    };
    if (0..outcomes.len()).any(is_again) {
        return Some("each outcome of `any_of` stands there once");
    }
    if outcomes.len() < 2 || failures.is_empty() {
        return Some("`any_of` has at least two outcomes, and one of them is a failure");
    }
    if passes.iter().any(|pass| !pass.signature.is_empty()) {
        return Some("a pass has no signature");
    }
    failures.iter().find_map(|failure| fault(failure.verdict, &failure.signature))
}
