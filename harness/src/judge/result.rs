//! Required members of a native result, judged one by one.

use std::fmt::Debug;

use boxproof_cases::case::{DurationExpect, ErrorExpect, ResultExpect};
use boxproof_cases::protocol::{ClaimLevel, RunError, RunResult};
use boxproof_cases::{Capability, Case};
use nix::sys::signal::Signal;

use super::reason::{Reason, VerdictFinding};
use super::timing::LATE_MS;
use crate::execution::RunReport;

/// Checks that every member that the case names is as it says, where the backend gives a result at
/// all.
pub(super) fn kept(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    let Some(expect) = &case.expect.result else { return Ok(()) };
    let events = |result: &RunResult| {
        let wanted = expect.events.as_ref()?;
        wanted.differs(&result.events, result.events_cut, &run.stdout.text)
    };
    let broken = match (&run.result, &run.result_fault) {
        (_, Some(_)) if expect.lost => None,
        (_, Some(fault)) => Some(fault.clone()),
        (Some(result), None) => unlike(expect, result).or_else(|| events(result)),
        // A backend without results has promised none.
        (None, None) => None,
    };
    broken.map_or(Ok(()), |message| Err(VerdictFinding::contract(Reason::Result, message)))?;
    let bounds = expect.duration.as_ref().zip(run.result.as_ref());
    match bounds.and_then(|(bounds, result)| untimely(bounds, result.duration_ms)) {
        Some(message) => Err(VerdictFinding::contract(Reason::Timing, message)),
        None => Ok(()),
    }
}

fn unlike(expect: &ResultExpect, result: &RunResult) -> Option<String> {
    let signal = expect.signal.as_ref().map(|name| name.as_deref().map(number));
    let interrupted = expect.interrupted_by.as_ref();
    let interrupted = interrupted.map(|name| name.as_ref().map(|name| format!("SIG{name}")));
    member("started", expect.started.as_ref(), &result.started)
        .or_else(|| member("success", expect.success.as_ref(), &result.success))
        .or_else(|| member("exit_code", expect.exit_code.as_ref(), &result.exit_code))
        .or_else(|| member("signal", signal.as_ref(), &result.signal))
        .or_else(|| member("timed_out", expect.timed_out.as_ref(), &result.timed_out))
        .or_else(|| member("interrupted_by", interrupted.as_ref(), &result.interrupted_by))
        .or_else(|| member("annotations", expect.annotations.as_ref(), &result.annotations))
        .or_else(|| member("limits", expect.limits.as_ref(), &result.limits))
        .or_else(|| member("truncated", expect.truncated.map(Some).as_ref(), &result.truncated))
        .or_else(|| inferred(expect.inferred.as_deref()?, result))
        .or_else(|| unenforced(&expect.enforced, result))
        .or_else(|| error(expect.error.as_ref()?.as_ref(), result.error.as_ref()))
}

/// Compares the inferred grants of the result with `wanted`; describes the difference, if there is
/// one.
fn inferred(wanted: &[String], result: &RunResult) -> Option<String> {
    let found = result.inferred.as_ref().map_or(&[][..], |inferred| &inferred.granted);
    let same = wanted.len() == found.len() && wanted.iter().all(|grant| found.contains(grant));
    (!same).then(|| format!("the result has inferred {found:?} instead of {wanted:?}"))
}

/// Describes the first capability of `wanted` that the result does not list, if there is one.
fn unenforced(wanted: &[Capability], result: &RunResult) -> Option<String> {
    let is_listed =
        |name: &str| result.enforced.get(name).is_some_and(|level| *level > ClaimLevel::None);
    let missing = wanted.iter().map(Capability::name).find(|name| !is_listed(name))?;
    Some(format!("the result does not list {missing} as enforced"))
}

/// A signal without a number is one that no result can name.
fn number(name: &str) -> i32 {
    format!("SIG{name}").parse::<Signal>().map_or(i32::MAX, |signal| signal as i32)
}

fn member<T: PartialEq + Debug>(name: &str, wanted: Option<&T>, found: &T) -> Option<String> {
    let wanted = wanted.filter(|wanted| *wanted != found)?;
    Some(format!("the result has {name} {found:?} instead of {wanted:?}"))
}

fn error(wanted: Option<&ErrorExpect>, found: Option<&RunError>) -> Option<String> {
    let (wanted, found) = match (wanted, found) {
        (None, None) => return None,
        (None, Some(found)) => return Some(format!("the result has an error: {}", found.message)),
        (Some(_), None) => return Some("the result has no error".to_owned()),
        (Some(wanted), Some(found)) => (wanted, found),
    };
    if let Some(kind) = wanted.kind.filter(|kind| *kind != found.kind) {
        return Some(format!("the error is of kind {:?} instead of {kind:?}", found.kind));
    }
    let lacking = wanted.contains.iter().find(|part| !found.message.contains(*part))?;
    Some(format!("the error lacks {lacking:?}: {:?}", found.message))
}

fn untimely(bounds: &DurationExpect, ms: u64) -> Option<String> {
    if let Some(least) = bounds.not_before.filter(|least| ms < *least) {
        return Some(format!("the result has a duration of {ms} ms, less than {least} ms"));
    }
    let most = bounds.within.filter(|most| ms as f64 > *most as f64 + LATE_MS)?;
    Some(format!("the result has a duration of {ms} ms, more than {most} ms"))
}
