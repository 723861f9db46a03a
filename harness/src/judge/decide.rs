//! The decision itself: did the confined arm do what the case expects of it.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Compare, Control, Denial, ExitExpect, ExpectedDecision, Moment, Oracle, Survivors,
};
use boxproof_probes::ActOutcome;
use boxproof_reports::Verdict;

use super::exit::{self, RunEvidence};
use super::reason::{Reason, VerdictFinding, gravest};
use super::residue::placeholder;
use super::{REFUSALS, contract, equivalence, feasibility, leaks, race, timing};
use crate::execution::{ArmRecord, ArmReport, ProcessExit, RunReport};

/// Checks that no oracle saw an effect that the case forbids. A file that only the backend can have
/// put there is no such effect.
pub(super) fn nothing_happened(
    case: &Case,
    confined: &ArmReport,
    control: Option<&ArmRecord>,
) -> Result<(), VerdictFinding> {
    if !case.expect.decision.is_negative() {
        return Ok(());
    }
    // A backend that the harness kills cannot clean up after itself any more.
    let survivors = Oracle::NoSurvivors(Survivors::default()).to_string();
    let forced = leaks::timed_out(confined);
    let mut happened = confined
        .oracles
        .iter()
        .filter(|reading| !reading.positive && !reading.holds && !reading.unread)
        .filter(|reading| !(forced && reading.oracle == survivors))
        .filter(|reading| match control {
            Some(ArmRecord::Done(control)) => {
                placeholder(case, control, confined, reading).is_none()
            }
            _ => true,
        });
    match happened.next() {
        Some(reading) => Err(VerdictFinding::new(
            Verdict::UnderBlock,
            Reason::Oracle,
            format!(
                "`{}` does not hold: {}{}",
                reading.oracle,
                reading.saw,
                race::lost_clause(confined)
            ),
        )),
        None => Ok(()),
    }
}

/// Checks that `confined` is what `case` expects, given its control. Of several runs the one that
/// shows most decides.
pub(super) fn decide(
    case: &Case,
    control: Option<&ArmReport>,
    confined: &ArmReport,
) -> Result<(), VerdictFinding> {
    let runs = confined.runs.iter().enumerate().map(|(at, run)| {
        let control = control.and_then(|control| control.runs.get(at));
        one_run(case, control, run, leaves_trace(confined))
    });
    gravest(runs.chain([complete(case, confined)]))?;
    match case.expect.decision {
        ExpectedDecision::AllowedOrRefused(_)
            if confined.runs.iter().all(|run| exit::declined(run).is_some()) =>
        {
            untouched(confined)
        }
        ExpectedDecision::Allowed | ExpectedDecision::AllowedOrRefused(_) => {
            end_state(case, control, confined)
        }
        ExpectedDecision::Refused | ExpectedDecision::Answer(_) | ExpectedDecision::Receipts(_) => {
            Ok(())
        }
        ExpectedDecision::Denied(_) | ExpectedDecision::Contained(_) => trace(confined),
        // A backend that says that nothing was started leaves no trace.
        ExpectedDecision::Withheld(_)
            if confined.runs.iter().all(|run| exit::unstarted(run).is_some()) =>
        {
            Ok(())
        }
        ExpectedDecision::Withheld(_) => trace(confined),
    }
}

/// A backend that declines has done nothing: no oracle saw an effect that the case forbids.
fn untouched(confined: &ArmReport) -> Result<(), VerdictFinding> {
    let happened = confined.oracles.iter().find(|reading| !reading.positive && !reading.holds);
    happened.map_or(Ok(()), |reading| {
        let message =
            format!("the policy was declined, and yet `{}`: {}", reading.oracle, reading.saw);
        Err(VerdictFinding::contract(Reason::Oracle, message))
    })
}

/// Checks that each trace that the case asks for is there: an act without its trace may have done
/// nothing that could be held.
fn trace(confined: &ArmReport) -> Result<(), VerdictFinding> {
    let gone = confined.oracles.iter().find(|reading| reading.positive && !reading.holds);
    gone.map_or(Ok(()), |reading| {
        let message = format!("`{}` does not hold: {}", reading.oracle, reading.saw);
        Err(VerdictFinding::inconclusive(Reason::NoTrace, message))
    })
}

/// A run or a reading that is missing is no reason to be content.
fn complete(case: &Case, confined: &ArmReport) -> Result<(), VerdictFinding> {
    if let Some(why) = feasibility::runs_missing(case, confined) {
        return Err(VerdictFinding::inconclusive(
            Reason::NothingRan,
            format!("in the sandbox, {why}"),
        ));
    }
    match feasibility::reading_missing(case, confined) {
        Some(why) => Err(VerdictFinding::error(Reason::Harness, why)),
        None => Ok(()),
    }
}

/// Returns whether an oracle has seen a trace that only an act that ran can have left.
fn leaves_trace(confined: &ArmReport) -> bool {
    confined.oracles.iter().any(|reading| reading.positive && reading.holds)
}

fn one_run(
    case: &Case,
    control: Option<&RunReport>,
    run: &RunReport,
    traced: bool,
) -> Result<(), VerdictFinding> {
    timing::overdue(case, run)?;
    timing::lived_on(case, control, run)?;
    timing::stood_still(case, control, run)?;
    started(run, &case.expect.decision)?;
    match &case.expect.decision {
        ExpectedDecision::AllowedOrRefused(_) if exit::declined(run).is_some() => {
            return refused(case, run);
        }
        ExpectedDecision::Allowed | ExpectedDecision::AllowedOrRefused(_) => {
            allowed(case, control, run)?;
        }
        ExpectedDecision::Denied(denial) => denied(case, denial, run)?,
        ExpectedDecision::Contained(denial) => contained(case, denial, control, (run, traced))?,
        ExpectedDecision::Withheld(denial) => withheld(case, denial, control, (run, traced))?,
        ExpectedDecision::Refused => refused(case, run)?,
        ExpectedDecision::Answer(_) | ExpectedDecision::Receipts(_) => {
            let why = "a question or a channel was run like a command";
            return Err(VerdictFinding::error(Reason::Harness, why));
        }
    }
    contract::kept(case, run)
}

/// The oracles hold, and the end state is the control's.
pub(super) fn end_state(
    case: &Case,
    control: Option<&ArmReport>,
    confined: &ArmReport,
) -> Result<(), VerdictFinding> {
    if let Some(reading) = confined.oracles.iter().find(|reading| !reading.holds) {
        let verdict = if reading.positive { Verdict::OverBlock } else { Verdict::Contract };
        let message = format!("`{}` does not hold: {}", reading.oracle, reading.saw);
        return Err(VerdictFinding::new(verdict, Reason::Oracle, message));
    }
    control.map_or(Ok(()), |control| equivalence::same(case, control, confined))
}

/// The backend was set up, did not decline (unless that is expected), and ended in time.
pub(super) fn started(run: &RunReport, decision: &ExpectedDecision) -> Result<(), VerdictFinding> {
    match (exit::setup_failed(run), decision) {
        (None, _) | (Some(_), ExpectedDecision::Withheld(_)) => {}
        (Some(why), _) => {
            let message = exit::by_exits(&why, run);
            return Err(VerdictFinding::error(Reason::SetupFailed, message));
        }
    }
    if run.exit == ProcessExit::TimedOut {
        let message = "the backend did not end in time";
        return Err(VerdictFinding::inconclusive(Reason::TimedOut, message));
    }
    match (exit::declined(run), decision) {
        (None, _) | (Some(_), ExpectedDecision::Refused | ExpectedDecision::Withheld(_)) => Ok(()),
        (Some(why), ExpectedDecision::AllowedOrRefused(refusal)) => match refusal.is_said(&why) {
            true => Ok(()),
            false => Err(VerdictFinding::over_block(
                Reason::PolicyRefused,
                format!("the refusal does not say {}: {why}", refusal.says.join(" and ")),
            )),
        },
        (Some(why), _) => Err(unwelcome(run, decision, &why)),
    }
}

/// A policy that was declined although nothing in the case asks for that. A backend that says that
/// it has no way to say it is like a manifest that says so.
fn unwelcome(run: &RunReport, decision: &ExpectedDecision, why: &str) -> VerdictFinding {
    if let Some(why) = exit::inexpressible(run) {
        return VerdictFinding::new(Verdict::Unsupported, Reason::Inexpressible, why);
    }
    let message = exit::by_exits(why, run);
    match decision {
        ExpectedDecision::Allowed => VerdictFinding::over_block(Reason::PolicyRefused, message),
        _ => VerdictFinding::contract(Reason::PolicyRefused, message),
    }
}

fn allowed(
    case: &Case,
    control: Option<&RunReport>,
    run: &RunReport,
) -> Result<(), VerdictFinding> {
    let over = |message: String| Err(VerdictFinding::over_block(Reason::Refused, message));
    match exit::run_evidence(case, run) {
        RunEvidence::NotExpected => announced(control, run)?,
        RunEvidence::Outcome(ActOutcome::Succeeded) => {}
        RunEvidence::Outcome(ActOutcome::Refused { errno, call }) => {
            return over(format!("{call} failed with {errno}"));
        }
        RunEvidence::Outcome(ActOutcome::Killed { signal }) => {
            return over(format!("it was killed by {signal}"));
        }
        // It was under way, so that its silence afterwards is an observation: it was cut short.
        RunEvidence::Silence if run.ready => {
            let message = format!("the act was cut short: the run {}", exit::ended(run));
            return Err(VerdictFinding::contract(Reason::CutShort, message));
        }
        silent => return Err(no_record(silent, run)),
    }
    match (&case.expect.exit, control) {
        (Some(wanted), _) => ended_otherwise(wanted, run),
        (None, Some(control)) => ended_unlike(case, control, run),
        (None, None) => ended_otherwise(&ExitExpect::Code(0), run),
    }
}

/// An act that announces itself without a sandbox does so inside, too, or it was not run.
fn announced(control: Option<&RunReport>, run: &RunReport) -> Result<(), VerdictFinding> {
    if run.ready || !control.is_some_and(|control| control.ready) {
        return Ok(());
    }
    let message = format!(
        "nothing shows that the act was run: it does not announce itself, and the run {}",
        exit::ended(run)
    );
    Err(VerdictFinding::contract(Reason::NoTrace, message))
}

/// A success that is promised and does not come is a refusal, however it shows.
fn ended_otherwise(wanted: &ExitExpect, run: &RunReport) -> Result<(), VerdictFinding> {
    let Err(message) = exit::exit_fits(wanted, run) else { return Ok(()) };
    Err(match wanted {
        ExitExpect::Code(0) => VerdictFinding::over_block(Reason::Exit, message),
        _ => VerdictFinding::contract(Reason::Exit, message),
    })
}

/// An act that ends otherwise than without a sandbox was refused, where it succeeds there.
pub(super) fn ended_unlike(
    case: &Case,
    control: &RunReport,
    run: &RunReport,
) -> Result<(), VerdictFinding> {
    let compared = case.expect.compare.contains(&Compare::Exit);
    if !compared || exit::same_exit(case, control, run) {
        return Ok(());
    }
    let message = format!("it {} instead of {}", exit::ended(run), exit::would_have(control));
    let message = exit::with_stderr(&message, run);
    Err(match control.exit {
        ProcessExit::Code(0) => VerdictFinding::over_block(Reason::Exit, message),
        _ => VerdictFinding::contract(Reason::Exit, message),
    })
}

fn denied(case: &Case, denial: &Denial, run: &RunReport) -> Result<(), VerdictFinding> {
    match exit::run_evidence(case, run) {
        RunEvidence::NotExpected => {
            let listed = denial.errno.iter().map(String::as_str).chain(besides(case, run));
            exit::check_errno_text(case, &listed.collect::<Vec<_>>(), run)
        }
        RunEvidence::Outcome(ActOutcome::Succeeded) => Err(VerdictFinding::contract(
            Reason::NotRefused,
            "the act reports success although nothing happened: a refusal is promised",
        )),
        RunEvidence::Outcome(outcome) => meant(denial, besides(case, run), outcome),
        silent => Err(no_record(silent, run)),
    }
}

/// Returns whether the run ended with the exit status that the case gives for an act that leaves a
/// trace: status and trace both show that the act ran, and the case asks for the trace as well.
fn as_told(case: &Case, run: &RunReport) -> bool {
    let told = case.expect.exit.as_ref().filter(|exit| **exit != ExitExpect::Nonzero);
    let leaves_trace = case.expect.oracle.iter().any(Oracle::is_positive);
    leaves_trace && told.is_some_and(|exit| exit::exit_fits(exit, run).is_ok())
}

/// Returns whether the run was ready when the last `during` event of the case was applied to it:
/// its end is no refusal then, whichever exit code the backend has for that, and no success.
fn was_ended(case: &Case, run: &RunReport) -> bool {
    let done = |number| run.moments.iter().any(|stamp| stamp.moment == Moment::During(number));
    let under_way = run.ready && run.exit != ProcessExit::Code(0);
    under_way && !case.during.is_empty() && (1..=case.during.len()).all(done)
}

fn contained(
    case: &Case,
    denial: &Denial,
    control: Option<&RunReport>,
    (run, traced): (&RunReport, bool),
) -> Result<(), VerdictFinding> {
    match exit::run_evidence(case, run) {
        RunEvidence::NotExpected => {
            exit::executed(case, run)?;
            let as_control = |control| exit::same_exit(case, control, run);
            let ended_as_due = control.is_some_and(as_control)
                || contract::spoken(case, run)
                || as_told(case, run)
                || was_ended(case, run);
            // A run that executed nothing has no effect either; so a trace is required as well.
            let traced = traced || run.ready || contract::unguessed(case, run);
            if ended_as_due && traced {
                return Ok(());
            }
            if run.exit == ProcessExit::Code(0) && !traced {
                let message = "success is reported, and nothing shows that the act was run";
                return Err(VerdictFinding::contract(Reason::NoTrace, message));
            }
            let listed = denial.errno.iter().map(String::as_str).chain(REFUSALS);
            exit::check_errno_text(case, &listed.chain(besides(case, run)).collect::<Vec<_>>(), run)
        }
        RunEvidence::Outcome(ActOutcome::Succeeded) => Ok(()),
        RunEvidence::Outcome(outcome) => {
            meant(denial, REFUSALS.into_iter().chain(besides(case, run)), outcome)
        }
        silent => Err(no_record(silent, run)),
    }
}

/// Returns the further errnos that count as a refusal because of how the backend closes paths: it
/// hides an object, or something else stands in its place. The control has shown that the object is
/// there, or can be made.
fn besides<'a>(case: &Case, run: &'a RunReport) -> impl Iterator<Item = &'a str> {
    let shown = !matches!(case.control, Control::None(_));
    run.besides.iter().filter(move |_| shown).map(String::as_str)
}

/// The act failed for a reason that counts: one of the case's, or one of `also`.
fn meant<'a>(
    denial: &Denial,
    also: impl IntoIterator<Item = &'a str>,
    outcome: &ActOutcome,
) -> Result<(), VerdictFinding> {
    match outcome {
        ActOutcome::Succeeded => Ok(()),
        ActOutcome::Killed { signal } => {
            let name = signal.strip_prefix("SIG").unwrap_or(signal);
            if denial.signal.iter().any(|listed| listed == name) {
                return Ok(());
            }
            let message = format!("the attempt was killed by {signal}");
            Err(VerdictFinding::inconclusive(Reason::WrongSignal, message))
        }
        ActOutcome::Refused { errno, call } => {
            if denial.errno.contains(errno) || also.into_iter().any(|other| other == errno) {
                return Ok(());
            }
            let listed = denial.errno.join(" ");
            let message = format!("{call} failed with {errno}, which is not among {listed}");
            Err(VerdictFinding::inconclusive(Reason::WrongErrno, message))
        }
    }
}

fn refused(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    let under_way = run.ready || matches!(exit::run_evidence(case, run), RunEvidence::Outcome(_));
    let message = match exit::declined(run) {
        Some(_) if !under_way => return Ok(()),
        Some(_) => "the policy was declined, and the act done all the same",
        None => "the policy was not declined",
    };
    let message = format!("{message}; the run {}", exit::ended(run));
    Err(VerdictFinding::contract(Reason::NotRefused, message))
}

/// Judges a withheld act: not started, and reported so; else as if it were to be contained. The
/// oracles have been judged before.
fn withheld(
    case: &Case,
    denial: &Denial,
    control: Option<&RunReport>,
    (run, traced): (&RunReport, bool),
) -> Result<(), VerdictFinding> {
    let under_way = run.ready || matches!(exit::run_evidence(case, run), RunEvidence::Outcome(_));
    match exit::unstarted(run) {
        Some(_) if !under_way => Ok(()),
        Some(why) => {
            let message = format!("the act was done all the same: {why}");
            Err(VerdictFinding::contract(Reason::NotRefused, message))
        }
        None => contained(case, denial, control, (run, traced)),
    }
}

fn no_record(silent: RunEvidence<'_>, run: &RunReport) -> VerdictFinding {
    match silent {
        RunEvidence::Untrusted(why) => VerdictFinding::inconclusive(Reason::UntrustedRecord, why),
        _ => VerdictFinding::inconclusive(Reason::NoRecord, exit::silence(run)),
    }
}
