//! The decision itself: did the confined arm do what the case expects of it.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Compare, Control, Decision, Denial, ExitExpect, Moment, Oracle, Survivors,
};
use boxproof_probes::Outcome;
use boxproof_reports::Verdict;

use super::ending::{self, Seen};
use super::reason::{Finding, Reason, gravest};
use super::residue::placeholder;
use super::{REFUSALS, effect, left, promise, same, timing};
use crate::execution::{Arm, Exit, Report, RunReport};

/// Checks that no oracle saw an effect that the case forbids. A file that only the backend can have
/// put there is no such effect.
pub(super) fn nothing_happened(
    case: &Case,
    confined: &Report,
    control: Option<&Arm>,
) -> Result<(), Finding> {
    if !case.expect.decision.is_negative() {
        return Ok(());
    }
    // A backend that the harness kills cannot clean up after itself any more.
    let survivors = Oracle::NoSurvivors(Survivors::default()).to_string();
    let forced = left::timed_out(confined);
    let mut happened = confined
        .oracles
        .iter()
        .filter(|reading| !reading.positive && !reading.holds && !reading.unread)
        .filter(|reading| !(forced && reading.oracle == survivors))
        .filter(|reading| match control {
            Some(Arm::Done(control)) => placeholder(case, control, confined, reading).is_none(),
            _ => true,
        });
    match happened.next() {
        Some(reading) => Err(Finding::new(
            Verdict::UnderBlock,
            Reason::Oracle,
            format!("`{}` does not hold: {}", reading.oracle, reading.saw),
        )),
        None => Ok(()),
    }
}

/// Checks that `confined` is what `case` expects, given its control. Of several runs the one that
/// shows most decides.
pub(super) fn decide(
    case: &Case,
    control: Option<&Report>,
    confined: &Report,
) -> Result<(), Finding> {
    let runs = confined.runs.iter().enumerate().map(|(at, run)| {
        let control = control.and_then(|control| control.runs.get(at));
        one_run(case, control, run, leaves_trace(confined))
    });
    gravest(runs.chain([complete(case, confined)]))?;
    match case.expect.decision {
        Decision::AllowedOrRefused(_)
            if confined.runs.iter().all(|run| ending::declined(run).is_some()) =>
        {
            untouched(confined)
        }
        Decision::Allowed | Decision::AllowedOrRefused(_) => end_state(case, control, confined),
        Decision::Refused | Decision::Answer(_) | Decision::Receipts(_) => Ok(()),
        Decision::Denied(_) | Decision::Contained(_) => trace(confined),
        // A backend that says that nothing was started leaves no trace.
        Decision::Withheld(_)
            if confined.runs.iter().all(|run| ending::unstarted(run).is_some()) =>
        {
            Ok(())
        }
        Decision::Withheld(_) => trace(confined),
    }
}

/// A backend that declines has done nothing: no oracle saw an effect that the case forbids.
fn untouched(confined: &Report) -> Result<(), Finding> {
    let happened = confined.oracles.iter().find(|reading| !reading.positive && !reading.holds);
    happened.map_or(Ok(()), |reading| {
        let message =
            format!("the policy was declined, and yet `{}`: {}", reading.oracle, reading.saw);
        Err(Finding::contract(Reason::Oracle, message))
    })
}

/// Checks that each trace that the case asks for is there: an act without its trace may have done
/// nothing that could be held.
fn trace(confined: &Report) -> Result<(), Finding> {
    let gone = confined.oracles.iter().find(|reading| reading.positive && !reading.holds);
    gone.map_or(Ok(()), |reading| {
        let message = format!("`{}` does not hold: {}", reading.oracle, reading.saw);
        Err(Finding::inconclusive(Reason::NoTrace, message))
    })
}

/// A run or a reading that is missing is no reason to be content.
fn complete(case: &Case, confined: &Report) -> Result<(), Finding> {
    if let Some(why) = effect::runs_missing(case, confined) {
        return Err(Finding::inconclusive(Reason::NothingRan, format!("in the sandbox, {why}")));
    }
    match effect::reading_missing(case, confined) {
        Some(why) => Err(Finding::error(Reason::Harness, why)),
        None => Ok(()),
    }
}

/// Returns whether an oracle has seen a trace that only an act that ran can have left.
fn leaves_trace(confined: &Report) -> bool {
    confined.oracles.iter().any(|reading| reading.positive && reading.holds)
}

fn one_run(
    case: &Case,
    control: Option<&RunReport>,
    run: &RunReport,
    traced: bool,
) -> Result<(), Finding> {
    timing::overdue(case, run)?;
    timing::lived_on(case, control, run)?;
    timing::stood_still(case, control, run)?;
    started(run, &case.expect.decision)?;
    match &case.expect.decision {
        Decision::AllowedOrRefused(_) if ending::declined(run).is_some() => {
            return refused(case, run);
        }
        Decision::Allowed | Decision::AllowedOrRefused(_) => allowed(case, control, run)?,
        Decision::Denied(denial) => denied(case, denial, run)?,
        Decision::Contained(denial) => contained(case, denial, control, (run, traced))?,
        Decision::Withheld(denial) => withheld(case, denial, control, (run, traced))?,
        Decision::Refused => refused(case, run)?,
        Decision::Answer(_) | Decision::Receipts(_) => {
            let why = "a question or a channel was run like a command";
            return Err(Finding::error(Reason::Harness, why));
        }
    }
    promise::kept(case, run)
}

/// The oracles hold, and the end state is the control's.
pub(super) fn end_state(
    case: &Case,
    control: Option<&Report>,
    confined: &Report,
) -> Result<(), Finding> {
    if let Some(reading) = confined.oracles.iter().find(|reading| !reading.holds) {
        let verdict = if reading.positive { Verdict::OverBlock } else { Verdict::Contract };
        let message = format!("`{}` does not hold: {}", reading.oracle, reading.saw);
        return Err(Finding::new(verdict, Reason::Oracle, message));
    }
    control.map_or(Ok(()), |control| same::same(case, control, confined))
}

/// The backend was set up, did not decline (unless that is expected), and ended in time.
pub(super) fn started(run: &RunReport, decision: &Decision) -> Result<(), Finding> {
    match (ending::setup_failed(run), decision) {
        (None, _) | (Some(_), Decision::Withheld(_)) => {}
        (Some(why), _) => return Err(Finding::error(Reason::SetupFailed, why)),
    }
    if run.exit == Exit::TimedOut {
        let message = "the backend did not end in time";
        return Err(Finding::inconclusive(Reason::TimedOut, message));
    }
    match (ending::declined(run), decision) {
        (None, _) | (Some(_), Decision::Refused | Decision::Withheld(_)) => Ok(()),
        (Some(why), Decision::AllowedOrRefused(refusal)) => match refusal.is_said(&why) {
            true => Ok(()),
            false => Err(Finding::over_block(
                Reason::PolicyRefused,
                format!("the refusal does not say {}: {why}", refusal.says.join(" and ")),
            )),
        },
        (Some(why), Decision::Allowed) => Err(Finding::over_block(Reason::PolicyRefused, why)),
        (Some(why), _) => Err(Finding::contract(Reason::PolicyRefused, why)),
    }
}

fn allowed(case: &Case, control: Option<&RunReport>, run: &RunReport) -> Result<(), Finding> {
    let over = |message: String| Err(Finding::over_block(Reason::Refused, message));
    match ending::seen(case, run) {
        Seen::NotExpected => announced(control, run)?,
        Seen::Outcome(Outcome::Succeeded) => {}
        Seen::Outcome(Outcome::Refused { errno, call }) => {
            return over(format!("{call} failed with {errno}"));
        }
        Seen::Outcome(Outcome::Killed { signal }) => {
            return over(format!("it was killed by {signal}"));
        }
        // It was under way, so that its silence afterwards is an observation: it was cut short.
        Seen::Silence if run.ready => {
            let message = format!("the act was cut short: the run {}", ending::ended(run));
            return Err(Finding::contract(Reason::CutShort, message));
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
fn announced(control: Option<&RunReport>, run: &RunReport) -> Result<(), Finding> {
    if run.ready || !control.is_some_and(|control| control.ready) {
        return Ok(());
    }
    let message = format!(
        "nothing shows that the act was run: it does not announce itself, and the run {}",
        ending::ended(run)
    );
    Err(Finding::contract(Reason::NoTrace, message))
}

/// A success that is promised and does not come is a refusal, however it shows.
fn ended_otherwise(wanted: &ExitExpect, run: &RunReport) -> Result<(), Finding> {
    let Err(message) = ending::exit_fits(wanted, run) else { return Ok(()) };
    Err(match wanted {
        ExitExpect::Code(0) => Finding::over_block(Reason::Exit, message),
        _ => Finding::contract(Reason::Exit, message),
    })
}

/// An act that ends otherwise than without a sandbox was refused, where it succeeds there.
pub(super) fn ended_unlike(
    case: &Case,
    control: &RunReport,
    run: &RunReport,
) -> Result<(), Finding> {
    let compared = case.expect.compare.contains(&Compare::Exit);
    if !compared || ending::same_exit(case, control, run) {
        return Ok(());
    }
    let message = format!(
        "it {} instead of {}: {}",
        ending::ended(run),
        ending::would_have(control),
        ending::excerpt(&run.stderr.text)
    );
    Err(match control.exit {
        Exit::Code(0) => Finding::over_block(Reason::Exit, message),
        _ => Finding::contract(Reason::Exit, message),
    })
}

fn denied(case: &Case, denial: &Denial, run: &RunReport) -> Result<(), Finding> {
    match ending::seen(case, run) {
        Seen::NotExpected => {
            let listed = denial.errno.iter().map(String::as_str).chain(besides(case, run));
            ending::told(case, &listed.collect::<Vec<_>>(), run)
        }
        Seen::Outcome(Outcome::Succeeded) => Err(Finding::contract(
            Reason::NotRefused,
            "the act reports success although nothing happened: a refusal is promised",
        )),
        Seen::Outcome(outcome) => meant(denial, besides(case, run), outcome),
        silent => Err(no_record(silent, run)),
    }
}

/// Returns whether the run ended with the exit status that the case gives for an act that leaves a
/// trace: status and trace both show that the act ran, and the case asks for the trace as well.
fn as_told(case: &Case, run: &RunReport) -> bool {
    let told = case.expect.exit.as_ref().filter(|exit| **exit != ExitExpect::Nonzero);
    let leaves_trace = case.expect.oracle.iter().any(Oracle::is_positive);
    leaves_trace && told.is_some_and(|exit| ending::exit_fits(exit, run).is_ok())
}

/// Returns whether the run was ready when the last `during` event of the case was applied to it:
/// its end is no refusal then, whichever exit code the backend has for that, and no success.
fn was_ended(case: &Case, run: &RunReport) -> bool {
    let done = |number| run.moments.iter().any(|stamp| stamp.moment == Moment::During(number));
    let under_way = run.ready && run.exit != Exit::Code(0);
    under_way && !case.during.is_empty() && (1..=case.during.len()).all(done)
}

fn contained(
    case: &Case,
    denial: &Denial,
    control: Option<&RunReport>,
    (run, traced): (&RunReport, bool),
) -> Result<(), Finding> {
    match ending::seen(case, run) {
        Seen::NotExpected => {
            ending::executed(case, run)?;
            let as_control = |control| ending::same_exit(case, control, run);
            let ended_as_due = control.is_some_and(as_control)
                || promise::spoken(case, run)
                || as_told(case, run)
                || was_ended(case, run);
            // A run that executed nothing has no effect either; so a trace is required as well.
            let traced = traced || run.ready || promise::unguessed(case, run);
            if ended_as_due && traced {
                return Ok(());
            }
            if run.exit == Exit::Code(0) && !traced {
                let message = "success is reported, and nothing shows that the act was run";
                return Err(Finding::contract(Reason::NoTrace, message));
            }
            let listed = denial.errno.iter().map(String::as_str).chain(REFUSALS);
            ending::told(case, &listed.chain(besides(case, run)).collect::<Vec<_>>(), run)
        }
        Seen::Outcome(Outcome::Succeeded) => Ok(()),
        Seen::Outcome(outcome) => {
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
    outcome: &Outcome,
) -> Result<(), Finding> {
    match outcome {
        Outcome::Succeeded => Ok(()),
        Outcome::Killed { signal } => {
            let name = signal.strip_prefix("SIG").unwrap_or(signal);
            if denial.signal.iter().any(|listed| listed == name) {
                return Ok(());
            }
            let message = format!("the attempt was killed by {signal}");
            Err(Finding::inconclusive(Reason::WrongSignal, message))
        }
        Outcome::Refused { errno, call } => {
            if denial.errno.contains(errno) || also.into_iter().any(|other| other == errno) {
                return Ok(());
            }
            let listed = denial.errno.join(" ");
            let message = format!("{call} failed with {errno}, which is not among {listed}");
            Err(Finding::inconclusive(Reason::WrongErrno, message))
        }
    }
}

fn refused(case: &Case, run: &RunReport) -> Result<(), Finding> {
    let under_way = run.ready || matches!(ending::seen(case, run), Seen::Outcome(_));
    let message = match ending::declined(run) {
        Some(_) if !under_way => return Ok(()),
        Some(_) => "the policy was declined, and the act done all the same",
        None => "the policy was not declined",
    };
    let message = format!("{message}; the run {}", ending::ended(run));
    Err(Finding::contract(Reason::NotRefused, message))
}

/// Judges a withheld act: not started, and reported so; else as if it were to be contained. The
/// oracles have been judged before.
fn withheld(
    case: &Case,
    denial: &Denial,
    control: Option<&RunReport>,
    (run, traced): (&RunReport, bool),
) -> Result<(), Finding> {
    let under_way = run.ready || matches!(ending::seen(case, run), Seen::Outcome(_));
    match ending::unstarted(run) {
        Some(_) if !under_way => Ok(()),
        Some(why) => {
            let message = format!("the act was done all the same: {why}");
            Err(Finding::contract(Reason::NotRefused, message))
        }
        None => contained(case, denial, control, (run, traced)),
    }
}

fn no_record(silent: Seen<'_>, run: &RunReport) -> Finding {
    match silent {
        Seen::Untrusted(why) => Finding::inconclusive(Reason::UntrustedRecord, why),
        _ => Finding::inconclusive(Reason::NoRecord, ending::silence(run)),
    }
}
