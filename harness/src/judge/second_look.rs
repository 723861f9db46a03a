//! The second look: the effects of ordinary programs, observed by the host alone. No word of the
//! act or of the backend counts, so that a forged one gains nothing. Main function: [`look_again`].

use boxproof_cases::Case;
use boxproof_cases::case::{Control, Twin};
use boxproof_reports::{BlindLook, BlindShown, Verdict};

use super::reason::{Reason, VerdictFinding, gravest};
use super::{
    Judgement, control_report, decide, evidence, feasibility, leaks, report, unless_short,
};
use crate::execution::{ArmRecord, ArmReport, ArmSet, CaseExecution, ProcessExit};

/// The result of a second look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookedAgain {
    /// The expected outcome of the case.
    AsPromised,
    /// Another outcome.
    Otherwise {
        /// The verdict of the second look.
        verdict: Verdict,
        /// The observation, as a clause.
        saw: String,
    },
    /// Nothing: ordinary programs cannot do the act here without a sandbox either.
    Unable(String),
}

/// Judges `execution`, in which ordinary programs do the acts of `case`.
pub fn look_again(case: &Case, execution: &CaseExecution) -> LookedAgain {
    // An answer and a channel have no ordinary programs.
    let CaseExecution::Arms(arms) = execution else {
        return LookedAgain::Unable("it executes no program".to_owned());
    };
    if let Err(why) = able(case, arms) {
        return LookedAgain::Unable(why);
    }
    match unless_short(promised(case, arms), execution) {
        Ok(()) => LookedAgain::AsPromised,
        Err(finding) => LookedAgain::Otherwise { verdict: finding.verdict, saw: finding.message },
    }
}

/// Sets the second look beside the first, and makes it the `judgement` where the first passed and
/// the second does not.
pub fn set_beside(judgement: &mut Judgement, looked: LookedAgain) -> BlindLook {
    let differs = |saw: String| BlindLook { shown: BlindShown::Differs, saw };
    match (judgement.verdict, looked) {
        (_, LookedAgain::Unable(why)) => BlindLook { shown: BlindShown::Unable, saw: why },
        (Verdict::Pass, LookedAgain::Otherwise { verdict, saw }) => {
            judgement.verdict = verdict;
            Reason::Blind.code().clone_into(&mut judgement.reason);
            judgement.message = format!(
                "it passes under the eyes of the probe; with ordinary names and programs, {saw}"
            );
            differs(saw)
        }
        (Verdict::UnderBlock | Verdict::OverBlock | Verdict::Leak, LookedAgain::AsPromised) => {
            let saw = "with ordinary names and programs, it is as promised".to_owned();
            judgement.message = format!("{}; {saw}", judgement.message);
            differs(saw)
        }
        (_, LookedAgain::AsPromised | LookedAgain::Otherwise { .. }) => {
            BlindLook { shown: BlindShown::Same, saw: String::new() }
        }
    }
}

/// Checks that ordinary programs can do the act without a sandbox; the reason against it is in
/// words that many cases share.
fn able(case: &Case, arms: &ArmSet) -> Result<(), String> {
    let negative = case.expect.decision.is_negative();
    if let Control::None(_) = case.control {
        let told = !negative || matches!(case.twin, Some(Twin::Overlay(_)));
        return told.then_some(()).ok_or("it has neither control nor twin".to_owned());
    }
    let control = control_report(arms).map_err(|finding| finding.message)?;
    let missing = control.runs.iter().any(|run| run.exit == ProcessExit::Code(127));
    if control.broken.is_some() || missing || leaks::timed_out(control) {
        return Err("the ordinary program does not run here".to_owned());
    }
    let shown =
        if negative { has_effect(control) } else { control.oracles.iter().all(|o| o.holds) };
    shown.then_some(()).ok_or("the ordinary program has no such effect".to_owned())
}

/// Returns whether every forbidden effect has happened.
fn has_effect(report: &ArmReport) -> bool {
    report.oracles.iter().filter(|reading| !reading.positive).all(|reading| !reading.holds)
}

fn promised(case: &Case, arms: &ArmSet) -> Result<(), VerdictFinding> {
    let confined = report("confined", Some(&arms.confined))?;
    let control_arm = arms.control.as_ref();
    gravest([
        decide::nothing_happened(case, confined, control_arm),
        evidence::stands(case, confined, control_arm),
        leaks::behind("in the sandbox", Some(&arms.confined), control_arm),
        leaks::behind("under the twin", arms.twin.as_ref(), control_arm),
    ])?;
    evidence::counts(confined, control_arm)?;
    if let Some(step) = &confined.broken {
        decide::started(&step.run, &case.expect.decision)?;
        return Err(VerdictFinding::inconclusive(Reason::StepFailed, super::exit::broken(step)));
    }
    confined.runs.iter().try_for_each(|run| decide::started(run, &case.expect.decision))?;
    if let Some(why) = feasibility::runs_missing(case, confined) {
        return Err(VerdictFinding::inconclusive(Reason::NothingRan, why));
    }
    let control = control_report(arms).ok();
    match case.expect.decision.is_negative() {
        true => {
            traces(control, confined)?;
            twin(case, arms)
        }
        false => as_without(case, control, confined),
    }
}

/// Checks that the confined arm leaves every trace that the act leaves without a sandbox.
fn traces(control: Option<&ArmReport>, confined: &ArmReport) -> Result<(), VerdictFinding> {
    let left = |oracle: &str| {
        let mut readings = control.into_iter().flat_map(|control| &control.oracles);
        readings.any(|reading| reading.oracle == oracle && reading.holds)
    };
    let mut gone = confined.oracles.iter().filter(|reading| reading.positive && !reading.holds);
    gone.find(|reading| left(&reading.oracle)).map_or(Ok(()), |reading| {
        let message = format!("`{}` does not hold: {}", reading.oracle, reading.saw);
        Err(VerdictFinding::contract(Reason::NoTrace, message))
    })
}

/// Checks that the runs ended as without a sandbox, and left the same state.
fn as_without(
    case: &Case,
    control: Option<&ArmReport>,
    confined: &ArmReport,
) -> Result<(), VerdictFinding> {
    for (run, control) in confined.runs.iter().zip(control.into_iter().flat_map(|c| &c.runs)) {
        decide::ended_unlike(case, control, run)?;
    }
    decide::end_state(case, control, confined)
}

/// Checks that the act has its effect under the wider policy too, where the backend can express it.
fn twin(case: &Case, arms: &ArmSet) -> Result<(), VerdictFinding> {
    let Some(Twin::Overlay(_)) = case.twin else { return Ok(()) };
    let twin = match arms.twin.as_ref() {
        Some(ArmRecord::Inexpressible(_)) => return Ok(()),
        arm => report("twin", arm)?,
    };
    if twin.runs.iter().any(|run| super::exit::inexpressible(run).is_some()) {
        return Ok(());
    }
    if leaks::timed_out(twin) {
        return Err(VerdictFinding::inconclusive(
            Reason::TwinTimedOut,
            "the twin did not end in time",
        ));
    }
    match has_effect(twin) {
        true => Ok(()),
        false => Err(VerdictFinding::over_block(
            Reason::Twin,
            "under the wider policy of the twin, nothing happens",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_reports::TwinState;
    use rstest::rstest;

    fn otherwise() -> LookedAgain {
        LookedAgain::Otherwise { verdict: Verdict::UnderBlock, saw: "it is there".to_owned() }
    }

    #[rstest]
    #[case(Verdict::Pass, LookedAgain::AsPromised, BlindShown::Same, (Verdict::Pass, "first"))]
    #[case(Verdict::Pass, otherwise(), BlindShown::Differs, (Verdict::UnderBlock, "blind"))]
    #[case(Verdict::UnderBlock, otherwise(), BlindShown::Same, (Verdict::UnderBlock, "first"))]
    #[case(Verdict::UnderBlock, LookedAgain::AsPromised, BlindShown::Differs, (Verdict::UnderBlock, "first"))]
    #[case(Verdict::Contract, LookedAgain::AsPromised, BlindShown::Same, (Verdict::Contract, "first"))]
    #[case(Verdict::Pass, LookedAgain::Unable("no".into()), BlindShown::Unable, (Verdict::Pass, "first"))]
    fn what_differs_is_a_finding_of_its_own(
        #[case] first: Verdict,
        #[case] looked: LookedAgain,
        #[case] shown: BlindShown,
        #[case] (verdict, reason): (Verdict, &str),
    ) {
        let twin = TwinState::NotNeeded;
        let mut judgement =
            Judgement { verdict: first, reason: "first".into(), message: String::new(), twin };
        assert_eq!(set_beside(&mut judgement, looked).shown, shown);
        assert_eq!((judgement.verdict, judgement.reason.as_str()), (verdict, reason));
    }
}
