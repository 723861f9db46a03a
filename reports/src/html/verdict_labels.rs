//! The form and meaning of verdicts and outcomes, in one place for markup, data and legend.

use crate::matrix::Matrix;
use crate::record::TwinState;
use crate::verdict::{Outcome, Verdict};

/// The symbol of a verdict; always shown with its word.
pub(super) fn symbol(verdict: Verdict) -> char {
    match verdict {
        Verdict::Pass => '✓',
        Verdict::UnderBlock => '✗',
        Verdict::OverBlock => '⊘',
        Verdict::Contract => '≠',
        Verdict::Leak => '↯',
        Verdict::Contradiction => '±',
        Verdict::Gap => '○',
        Verdict::Inconclusive => '?',
        Verdict::ProbeBroken => '¿',
        Verdict::Unsupported => '–',
        Verdict::NotApplicable => '∅',
        Verdict::Skipped => '»',
        Verdict::Error => '!',
    }
}

/// Returns the meaning of a verdict.
pub(super) fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "the sandbox did exactly what is expected, and the act is possible at all",
        Verdict::UnderBlock => "an effect that had to be denied or contained happened",
        Verdict::OverBlock => "an act that had to work, or the twin, was refused",
        Verdict::Contract => "the decision was right; exit code, streams, rule or timing were not",
        Verdict::Leak => "something outlived the run or crossed into it",
        Verdict::Contradiction => "the backend does what it does not claim",
        Verdict::Gap => "the backend does not do what it does not claim",
        Verdict::Inconclusive => "nothing was learnt",
        Verdict::ProbeBroken => "an effect could not be read",
        Verdict::Unsupported => "the backend does not claim a capability the case needs",
        Verdict::NotApplicable => "the host lacks a fact the case needs",
        Verdict::Skipped => "left out on purpose",
        Verdict::Error => "the backend could not be set up, or the harness is at fault",
    }
}

/// Returns the mark beside the verdict of a row that is known to fail, or did not pass at once;
/// empty for the others.
pub(super) fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Expected | Outcome::Unexpected => "",
        Outcome::Xfail => "known",
        Outcome::Xpass => "listed as failing",
        Outcome::Flaky => "flaky",
    }
}

/// The outcomes that a page of `matrix` names: a flaky one only where there is one.
pub(super) fn outcomes(matrix: &Matrix<'_>) -> impl Iterator<Item = Outcome> {
    let flaky = matrix.rows().any(|row| row.outcome == Outcome::Flaky);
    Outcome::ALL.into_iter().filter(move |outcome| flaky || *outcome != Outcome::Flaky)
}

/// Returns the meaning of an outcome.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Expected => "nothing to act on",
        Outcome::Unexpected => "neither promised nor known",
        Outcome::Xfail => "fails as known",
        Outcome::Xpass => "a known failure that passes: the list is out of date",
        Outcome::Flaky => "it passed, and an earlier try of the same run did not",
    }
}

/// Returns the meaning of a twin's state.
pub(super) fn twin(twin: TwinState) -> &'static str {
    match twin {
        TwinState::Shown => "shown: the act works in this sandbox under a policy one grant wider",
        TwinState::None => "none: nothing shows that the act is possible in this sandbox",
        TwinState::Inexpressible => "inexpressible: the backend cannot state the wider policy",
        TwinState::NotNeeded => "not needed",
    }
}
