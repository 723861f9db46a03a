//! The judge: from a case and its observations to a verdict. Pure; it executes nothing.
//!
//! Main function: [`judge`]. A missing observation is never a denial: without one the verdict is
//! inconclusive for every exit code.

mod channel;
mod compiled;
mod contract;
mod decide;
mod entry;
mod equivalence;
mod evidence;
mod exit;
mod feasibility;
mod grants;
mod leaks;
mod query;
mod race;
mod reason;
mod residue;
mod result;
mod second_look;
mod settings;
#[cfg(test)]
mod tests;
mod timing;
mod unclaimed;

use boxproof_cases::Case;
use boxproof_cases::case::{Control, ExpectedDecision, Twin};
use boxproof_reports::{TwinState, Verdict};

use crate::channel_observation::ChannelObservation;
use crate::execution::{ArmRecord, ArmReport, ArmSet, CaseExecution, is_about_resource};
use feasibility::Infeasible;
use reason::{VerdictFinding, gravest};

pub(crate) use exit::errno_texts as reason_words;
pub use reason::Reason;
pub use second_look::{LookedAgain, look_again, set_beside};
pub use unclaimed::unclaimed;

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
pub fn judge(case: &Case, execution: &CaseExecution) -> Judgement {
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
            reason: finding.reason.code().to_owned(),
            message: finding.message,
            twin,
        },
    }
}

fn twin_state(case: &Case, execution: &CaseExecution) -> TwinState {
    let twin = match execution {
        CaseExecution::Arms(arms) => arms.twin.as_ref(),
        CaseExecution::Channel(_) | CaseExecution::Answer(_) => None,
    };
    match (&case.twin, twin) {
        (Some(Twin::None(_)), _) => TwinState::None,
        (Some(Twin::Overlay(_)), Some(ArmRecord::Inexpressible(_))) => TwinState::Inexpressible,
        (Some(Twin::Overlay(_)), Some(ArmRecord::Done(twin))) => match twin_shown(case, twin) {
            Ok(()) => TwinState::Shown,
            Err(Infeasible::Inexpressible(_)) => TwinState::Inexpressible,
            Err(_) => TwinState::None,
        },
        (Some(Twin::Overlay(_)), _) => TwinState::None,
        (None, _) => TwinState::NotNeeded,
    }
}

/// Returns the finding, unless the host was at fault: a host short of resources refuses much that a
/// policy allows, and nothing is concluded about the backend then. An effect that the host saw
/// stays.
fn conclude(case: &Case, execution: &CaseExecution) -> Result<(), VerdictFinding> {
    unless_short(find(case, execution), execution)
}

/// Returns `found`, unless it blames the backend for a shortage of the host.
fn unless_short(
    found: Result<(), VerdictFinding>,
    execution: &CaseExecution,
) -> Result<(), VerdictFinding> {
    let blames = |finding: &VerdictFinding| {
        use Verdict::{Contract, Error, Inconclusive, OverBlock, ProbeBroken};
        matches!(finding.verdict, Contract | Error | Inconclusive | OverBlock | ProbeBroken)
    };
    match (found, shortage(execution)) {
        (Err(finding), Some(why)) if blames(&finding) => {
            let message = format!("the host is short of {why}; what was seen: {}", finding.message);
            Err(VerdictFinding::error(Reason::Host, message))
        }
        (found, _) => found,
    }
}

/// Returns the resource of which the host was short in one of the arms, if there was one.
fn shortage(execution: &CaseExecution) -> Option<&str> {
    fn of_arms<'a, T>(
        arms: &'a ArmSet<T>,
        told: impl Fn(&'a T) -> Option<&'a String>,
    ) -> Option<&'a str> {
        let arms = arms.control.iter().chain(&arms.twin).chain([&arms.confined]);
        arms.into_iter().find_map(|arm| match arm {
            ArmRecord::Done(seen) => told(seen).map(String::as_str),
            ArmRecord::Fault(why) if is_about_resource(why) => Some("what the harness needs"),
            _ => None,
        })
    }
    match execution {
        CaseExecution::Arms(arms) => of_arms(arms, |report: &ArmReport| report.shortages.first()),
        CaseExecution::Channel(arms) => of_arms(arms, |_: &ChannelObservation| None),
        CaseExecution::Answer(_) => None,
    }
}

fn find(case: &Case, execution: &CaseExecution) -> Result<(), VerdictFinding> {
    match (&case.expect.decision, execution) {
        (ExpectedDecision::Answer(wanted), CaseExecution::Answer(reply)) => {
            query::conclude(case, wanted, reply)
        }
        (ExpectedDecision::Receipts(expect), CaseExecution::Channel(arms)) => {
            channel::conclude(case, expect, arms)
        }
        (ExpectedDecision::Answer(_) | ExpectedDecision::Receipts(_), _)
        | (_, CaseExecution::Answer(_) | CaseExecution::Channel(_)) => {
            let message = "what was executed is not what the case asks for";
            Err(VerdictFinding::error(Reason::Harness, message))
        }
        (_, CaseExecution::Arms(arms)) => find_of_act(case, arms),
    }
}

fn find_of_act(case: &Case, arms: &ArmSet) -> Result<(), VerdictFinding> {
    let confined = report("confined", Some(&arms.confined))?;
    let control = arms.control.as_ref();
    // An effect that the host saw needs no control, and a second try must not make it unseen.
    let left = gravest([
        leaks::behind("in the sandbox", Some(&arms.confined), control),
        leaks::behind("under the twin", arms.twin.as_ref(), control),
    ]);
    gravest([
        decide::nothing_happened(case, confined, control),
        evidence::stands(case, confined, control),
        left.map_err(|leak| beside(leak, decided(case, arms, confined))),
    ])?;
    decided(case, arms, confined)
}

/// Joins a leak and a second finding: a policy that was declined comes first.
fn beside(leak: VerdictFinding, decided: Result<(), VerdictFinding>) -> VerdictFinding {
    match decided {
        Err(refusal) if refusal.reason == Reason::PolicyRefused => refusal.and(&leak),
        Err(other) if other.is_judged() => leak.and(&other),
        _ => leak,
    }
}

/// Judges the decision, and what the act and the backend made.
fn decided(case: &Case, arms: &ArmSet, confined: &ArmReport) -> Result<(), VerdictFinding> {
    let control = arms.control.as_ref();
    evidence::counts(confined, control)?;
    let control = self::control(case, control)?;
    if let Some(step) = &confined.broken {
        decide::started(&step.run, &case.expect.decision)?;
        let message = format!("in the sandbox, {}", exit::broken(step));
        return Err(VerdictFinding::inconclusive(Reason::StepFailed, message));
    }
    let decision = decide::decide(case, control, confined);
    let residue = residue::residue(case, control, confined);
    gravest([
        residue.map_err(|leak| beside(leak, decision.clone())),
        decision,
        evidence::is_within_bounds(confined, control),
        evidence::is_whole("confined", confined),
        control.map_or(Ok(()), |control| evidence::is_whole("control", control)),
    ])?;
    // A twin says what a right decision is worth; of a wrong or missing one it says nothing.
    twin(case, arms)
}

/// The report of an arm, or why there is none.
fn report<'a>(name: &str, arm: Option<&'a ArmRecord>) -> Result<&'a ArmReport, VerdictFinding> {
    match arm {
        Some(ArmRecord::Done(report)) => Ok(report),
        Some(ArmRecord::Inexpressible(why)) => {
            Err(VerdictFinding::new(Verdict::Unsupported, Reason::Inexpressible, why.clone()))
        }
        Some(ArmRecord::Fault(why)) => {
            Err(VerdictFinding::error(Reason::Harness, format!("{name}: {why}")))
        }
        None => Err(VerdictFinding::error(Reason::Harness, format!("the {name} arm is missing"))),
    }
}

/// Returns the report of the control, regardless of its outcome.
fn control_report(arms: &ArmSet) -> Result<&ArmReport, VerdictFinding> {
    report("control", arms.control.as_ref())
}

/// The control, if there is one, after it has shown the act to be possible.
fn control<'a>(
    case: &Case,
    arm: Option<&'a ArmRecord>,
) -> Result<Option<&'a ArmReport>, VerdictFinding> {
    if let Control::None(_) = case.control {
        return Ok(None);
    }
    let control = report("control", arm)?;
    let failed = |why: &str| {
        VerdictFinding::inconclusive(Reason::ControlFailed, format!("without a sandbox, {why}"))
    };
    if let Some(step) = &control.broken {
        return Err(failed(&exit::broken(step)));
    }
    let shown = match case.expect.decision {
        ExpectedDecision::Allowed | ExpectedDecision::AllowedOrRefused(_) => {
            feasibility::works(case, control)
        }
        _ => feasibility::shown(case, control),
    };
    shown.map_err(|shortfall| match shortfall {
        Infeasible::Unread(why) => VerdictFinding::unread(format!("without a sandbox, {why}")),
        shortfall => failed(shortfall.why()),
    })?;
    Ok(Some(control))
}

/// Checks that the act succeeds under the wider policy, where the backend can express it.
fn twin(case: &Case, arms: &ArmSet) -> Result<(), VerdictFinding> {
    let Some(Twin::Overlay(_)) = case.twin else { return Ok(()) };
    let twin = match arms.twin.as_ref() {
        Some(ArmRecord::Inexpressible(_)) => return Ok(()),
        arm => report("twin", arm)?,
    };
    if let Some(why) = &twin.distrust {
        return Err(VerdictFinding::error(Reason::Harness, format!("twin: {why}")));
    }
    let Err(shortfall) = twin_shown(case, twin) else { return Ok(()) };
    let message = format!("under the wider policy of the twin, {}", shortfall.why());
    Err(match shortfall {
        Infeasible::Inexpressible(_) => return Ok(()),
        Infeasible::Refused(_) => VerdictFinding::over_block(Reason::Twin, message),
        Infeasible::SetUp(_) => VerdictFinding::error(Reason::SetupFailed, message),
        Infeasible::TimedOut => VerdictFinding::inconclusive(Reason::TwinTimedOut, message),
        Infeasible::Unread(_) => VerdictFinding::unread(message),
        Infeasible::Unseen(_) => VerdictFinding::inconclusive(Reason::TwinFailed, message),
    })
}

/// Checks that the twin's arm shows that the act is possible.
fn twin_shown(case: &Case, twin: &ArmReport) -> Result<(), Infeasible> {
    match &twin.broken {
        Some(step) => {
            feasibility::begun(&step.run).and(Err(Infeasible::Unseen(exit::broken(step))))
        }
        None => feasibility::shown(case, twin),
    }
}
