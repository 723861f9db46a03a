//! The judge: from a case and its observations to a verdict. Pure; it executes nothing.
//!
//! Main function: [`judge`]. A missing observation is never a denial: without one the verdict is
//! inconclusive for every exit code.

mod again;
mod channel;
mod compiled;
mod decide;
mod effect;
mod ending;
mod entry;
mod evidence;
mod grants;
mod left;
mod promise;
mod question;
mod reason;
mod residue;
mod result;
mod same;
mod settings;
#[cfg(test)]
mod tests;
mod timing;

use boxproof_cases::Case;
use boxproof_cases::case::{Control, Decision, Twin};
use boxproof_reports::{TwinState, Verdict};

use crate::execution::{Arm, Execution, Report, is_about_resource};
use effect::Shortfall;
use reason::{Finding, gravest};

pub use again::{LookedAgain, look_again, set_beside};
pub(crate) use ending::words as reason_words;
pub use reason::Reason;

/// The errnos that mean a refusal for every act.
const REFUSALS: [&str; 3] = ["EACCES", "EPERM", "EROFS"];

/// The conclusion of the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The word of a [`Reason`]; empty for a plain pass.
    pub reason: String,
    /// The reason as one sentence for people; empty for a plain pass.
    pub message: String,
    /// The state of the twin.
    pub twin: TwinState,
}

/// Judges `case` by `execution`.
pub fn judge(case: &Case, execution: &Execution) -> Judgement {
    let twin = twin_state(case, execution);
    match conclude(case, execution) {
        Ok(()) => Judgement {
            verdict: Verdict::Pass,
            reason: String::new(),
            message: String::new(),
            twin,
        },
        Err(finding) => Judgement {
            verdict: finding.verdict,
            reason: finding.reason.word().to_owned(),
            message: finding.message,
            twin,
        },
    }
}

fn twin_state(case: &Case, execution: &Execution) -> TwinState {
    match (&case.twin, &execution.twin) {
        (Some(Twin::None(_)), _) => TwinState::None,
        (Some(Twin::Overlay(_)), Some(Arm::Inexpressible(_))) => TwinState::Inexpressible,
        (Some(Twin::Overlay(_)), Some(Arm::Done(twin))) if effect::shown(case, twin).is_ok() => {
            TwinState::Shown
        }
        (Some(Twin::Overlay(_)), _) => TwinState::None,
        (None, _) => TwinState::NotNeeded,
    }
}

/// Returns the finding, unless the host was at fault: a host short of resources refuses much that a
/// policy allows, and nothing is concluded about the backend then. An effect that the host saw
/// stays.
fn conclude(case: &Case, execution: &Execution) -> Result<(), Finding> {
    unless_short(find(case, execution), execution)
}

/// Returns `found`, unless it blames the backend for a shortage of the host.
fn unless_short(found: Result<(), Finding>, execution: &Execution) -> Result<(), Finding> {
    let blames = |finding: &Finding| {
        use Verdict::{Contract, Error, Inconclusive, OverBlock};
        matches!(finding.verdict, Contract | Error | Inconclusive | OverBlock)
    };
    match (found, shortage(execution)) {
        (Err(finding), Some(why)) if blames(&finding) => {
            let message = format!("the host is short of {why}; what was seen: {}", finding.message);
            Err(Finding::error(Reason::Host, message))
        }
        (found, _) => found,
    }
}

/// Returns the resource of which the host was short in one of the arms, if there was one.
fn shortage(execution: &Execution) -> Option<&str> {
    let arms = [&execution.control, &execution.twin, &execution.confined];
    arms.into_iter().flatten().find_map(|arm| match arm {
        Arm::Done(report) => report.shortages.first().map(String::as_str),
        Arm::Fault(why) if is_about_resource(why) => Some("what the harness needs"),
        _ => None,
    })
}

fn find(case: &Case, execution: &Execution) -> Result<(), Finding> {
    if case.question().is_some() {
        return question::conclude(case, execution);
    }
    if let Decision::Receipts(expect) = &case.expect.decision {
        return channel::conclude(case, expect, execution);
    }
    let confined = report("confined", execution.confined.as_ref())?;
    let control = execution.control.as_ref();
    // An effect that the host saw needs no control, and a second try must not make it unseen.
    let left = gravest([
        left::behind("in the sandbox", execution.confined.as_ref(), control),
        left::behind("under the twin", execution.twin.as_ref(), control),
    ]);
    gravest([
        decide::nothing_happened(case, confined, control),
        evidence::stands(case, confined, control),
        left.map_err(|leak| beside(leak, decided(case, execution, confined))),
    ])?;
    decided(case, execution, confined)
}

/// Joins a leak and a second finding: a policy that was declined comes first.
fn beside(leak: Finding, decided: Result<(), Finding>) -> Finding {
    match decided {
        Err(refusal) if refusal.reason == Reason::PolicyRefused => refusal.and(&leak),
        Err(other) if other.is_judged() => leak.and(&other),
        _ => leak,
    }
}

/// Judges the decision, and what the act and the backend made.
fn decided(case: &Case, execution: &Execution, confined: &Report) -> Result<(), Finding> {
    let control = execution.control.as_ref();
    evidence::counts(confined, control)?;
    let control = self::control(case, control)?;
    if let Some(step) = &confined.broken {
        decide::started(&step.run, &case.expect.decision)?;
        let message = format!("in the sandbox, {}", ending::broken(step));
        return Err(Finding::inconclusive(Reason::StepFailed, message));
    }
    let decision = decide::decide(case, control, confined);
    let residue = residue::residue(case, control, confined);
    gravest([
        residue.map_err(|leak| beside(leak, decision.clone())),
        decision,
        evidence::is_whole("confined", confined),
        control.map_or(Ok(()), |control| evidence::is_whole("control", control)),
    ])?;
    // A twin says what a right decision is worth; of a wrong or missing one it says nothing.
    twin(case, execution)
}

/// The report of an arm, or why there is none.
fn report<'a>(name: &str, arm: Option<&'a Arm>) -> Result<&'a Report, Finding> {
    match arm {
        Some(Arm::Done(report)) => Ok(report),
        Some(Arm::Inexpressible(why)) => {
            Err(Finding::new(Verdict::Unsupported, Reason::Inexpressible, why.clone()))
        }
        Some(Arm::Fault(why)) => Err(Finding::error(Reason::Harness, format!("{name}: {why}"))),
        Some(Arm::Channel(_)) | None => {
            Err(Finding::error(Reason::Harness, format!("the {name} arm is missing")))
        }
    }
}

/// Returns the report of the control, regardless of its outcome.
fn control_report(execution: &Execution) -> Result<&Report, Finding> {
    report("control", execution.control.as_ref())
}

/// The control, if there is one, after it has shown the act to be possible.
fn control<'a>(case: &Case, arm: Option<&'a Arm>) -> Result<Option<&'a Report>, Finding> {
    if let Control::None(_) = case.control {
        return Ok(None);
    }
    let control = report("control", arm)?;
    let failed = |why: &str| {
        Finding::inconclusive(Reason::ControlFailed, format!("without a sandbox, {why}"))
    };
    if let Some(step) = &control.broken {
        return Err(failed(&ending::broken(step)));
    }
    let shown = match case.expect.decision {
        Decision::Allowed | Decision::AllowedOrRefused(_) => effect::works(case, control),
        _ => effect::shown(case, control),
    };
    shown.map_err(|shortfall| failed(shortfall.why()))?;
    Ok(Some(control))
}

/// Checks that the act succeeds under the wider policy, where the backend can express it.
fn twin(case: &Case, execution: &Execution) -> Result<(), Finding> {
    let Some(Twin::Overlay(_)) = case.twin else { return Ok(()) };
    let twin = match execution.twin.as_ref() {
        Some(Arm::Inexpressible(_)) => return Ok(()),
        arm => report("twin", arm)?,
    };
    if let Some(why) = &twin.distrust {
        return Err(Finding::error(Reason::Harness, format!("twin: {why}")));
    }
    let shown = match &twin.broken {
        Some(step) => effect::begun(&step.run).and(Err(Shortfall::Unseen(ending::broken(step)))),
        None => effect::shown(case, twin),
    };
    shown.map_err(|shortfall| {
        let message = format!("under the wider policy of the twin, {}", shortfall.why());
        match shortfall {
            Shortfall::Refused(_) => Finding::over_block(Reason::Twin, message),
            Shortfall::SetUp(_) => Finding::error(Reason::SetupFailed, message),
            Shortfall::TimedOut => Finding::inconclusive(Reason::TwinTimedOut, message),
            Shortfall::Unseen(_) => Finding::inconclusive(Reason::TwinFailed, message),
        }
    })
}
