//! Times: order and distance of the moments of a run. Never early; late only beyond a tolerance.

use boxproof_cases::Case;
use boxproof_cases::case::{BackendStimulus, DuringEvent, Moment, TimeBound};

use super::reason::{Reason, VerdictFinding};
use crate::execution::{ProcessExit, RunReport};

/// The delay that a busy host may add to a time, in milliseconds.
pub(super) const LATE_MS: f64 = 250.0;
/// The delay after which a moment that the act itself makes may be seen, in milliseconds: a time
/// that starts with the moment looks that much shorter.
const HEARD_MS: f64 = 50.0;

/// Checks every bound of `case`.
pub(super) fn kept(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    let broken = case.expect.times.iter().find_map(|bound| broken(bound, run));
    broken.map_or(Ok(()), finding)
}

/// A run that the harness gave up is late where its time was up long before.
pub(super) fn overdue(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    if run.exit != ProcessExit::TimedOut {
        return Ok(());
    }
    let late = case.expect.times.iter().find_map(|bound| {
        let (from, most) = (at(&bound.from, run)?, bound.within? as f64);
        let waited = run.watched_ms - from;
        let missing = at(&bound.to, run).is_none() && waited > most + LATE_MS;
        missing.then(|| format!("{bound}: nothing within {waited:.0} ms instead of {most} ms"))
    });
    late.map_or(Ok(()), finding)
}

/// The time that a run must be seen to live on after the last event applied to it, in milliseconds:
/// no host is that busy.
const LIVED_ON_MS: f64 = 10_000.0;

/// A run that the harness gave up long after it was done to it what ended the control.
pub(super) fn lived_on(
    case: &Case,
    control: Option<&RunReport>,
    run: &RunReport,
) -> Result<(), VerdictFinding> {
    let ends = control.is_some_and(|control| control.exit != ProcessExit::TimedOut);
    if run.exit != ProcessExit::TimedOut || !ends {
        return Ok(());
    }
    let done = (1..=case.during.len()).map(|number| at(&Moment::During(number), run));
    let last = done.reduce(|one, other| Some(one?.max(other?))).flatten();
    if last.is_none_or(|last| run.watched_ms - last <= LIVED_ON_MS) {
        return Ok(());
    }
    // No figure of this one run, so that the next one says the same.
    let message = "the run lived on for more than 10 s after what ended the act without a sandbox";
    Err(VerdictFinding::contract(Reason::LivedOn, message))
}

/// A run that the harness gave up while a signal of the terminal stopped what it ran, where the
/// case itself stops nothing.
pub(super) fn stood_still(
    case: &Case,
    control: Option<&RunReport>,
    run: &RunReport,
) -> Result<(), VerdictFinding> {
    let stops = |event: &DuringEvent| match &event.what {
        BackendStimulus::Signal(name, _) => STOPPING.contains(&name.as_str()),
        BackendStimulus::Type(text) => text.contains(SUSPEND),
        _ => false,
    };
    let ends = control.is_some_and(|control| control.exit != ProcessExit::TimedOut);
    let bears = case.launcher.tty.is_some() && !case.during.iter().any(stops);
    match run.exit == ProcessExit::TimedOut && run.stopped && ends && bears {
        true => Err(VerdictFinding::contract(Reason::Stopped, STOPPED)),
        false => Ok(()),
    }
}

/// The signals that stop a process.
const STOPPING: [&str; 4] = ["STOP", "TSTP", "TTIN", "TTOU"];
/// The character by which a terminal stops its foreground.
const SUSPEND: char = '\u{1a}';
/// What the terminal does to who is not in its foreground.
const STOPPED: &str = "the terminal stopped the command, and nothing ever went on: it is not in the \
                       foreground of the launcher's terminal";

fn finding(message: String) -> Result<(), VerdictFinding> {
    Err(VerdictFinding::contract(Reason::Timing, message))
}

fn at(moment: &Moment, run: &RunReport) -> Option<f64> {
    run.moments.iter().find(|stamp| stamp.moment == *moment).map(|stamp| stamp.at_ms)
}

fn broken(bound: &TimeBound, run: &RunReport) -> Option<String> {
    let missing = |moment: &Moment| format!("`{moment}` was not seen: {}", describe_moments(run));
    let Some(from) = at(&bound.from, run) else { return Some(missing(&bound.from)) };
    let Some(to) = at(&bound.to, run) else { return Some(missing(&bound.to)) };
    let took = to - from;
    if took < 0.0 {
        return Some(format!("`{}` came before `{}`", bound.to, bound.from));
    }
    let forgiven = match bound.from {
        Moment::Ready | Moment::Mark(_) | Moment::File(_) => HEARD_MS,
        Moment::Start | Moment::During(_) | Moment::Exit => 0.0,
    };
    if let Some(least) = bound.not_before.filter(|least| took + forgiven < *least as f64) {
        return Some(format!("{bound}: {took:.1} ms, too early for {least} ms"));
    }
    let most = bound.within.filter(|most| took > *most as f64 + LATE_MS)?;
    Some(format!("{bound}: {took:.1} ms, too late for {most} ms"))
}

fn describe_moments(run: &RunReport) -> String {
    let moments = run.moments.iter().map(|stamp| format!("{} {:.0} ms", stamp.moment, stamp.at_ms));
    moments.collect::<Vec<_>>().join(", ")
}
