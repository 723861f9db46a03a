//! Promises besides the decision: exit status, streams, rule, native result and times.

use boxproof_cases::Case;
use boxproof_cases::case::{Act, ExitExpect, ExpectedDecision, StreamExpect};

use sha2::{Digest, Sha256};

use super::reason::{Reason, VerdictFinding};
use super::{REFUSALS, exit, result, timing};
use crate::execution::{CapturedStream, RunReport};

/// The rule of a run that was not put down to the sandbox.
const NO_RULE: &str = "none";

/// Checks that exit, streams, rule, native result and times are as the case (and the backend
/// itself) says.
pub(super) fn kept(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    exit(case, run)?;
    // Captured output is nowhere but in the result.
    if let Some(fault) = run.result_fault.as_ref().filter(|_| case.run.capture) {
        return Err(VerdictFinding::contract(Reason::Result, fault.clone()));
    }
    streams(case, run)?;
    if let (Some(rule), Some(result)) = (&case.expect.rule, &run.result) {
        let given = result.blocked.as_ref().map_or(NO_RULE, |blocked| blocked.rule.as_str());
        if given != rule {
            let message = format!("the rule is {given:?} instead of {rule:?}");
            return Err(VerdictFinding::contract(Reason::Rule, message));
        }
    }
    if let Some(message) = exit::contradiction(case, run) {
        return Err(VerdictFinding::contract(Reason::Result, message));
    }
    result::kept(case, run)?;
    // Last: an untimely run gets a second look, and must not hide a certain fault.
    timing::kept(case, run)
}

fn exit(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    let broken = match &case.expect.exit {
        Some(wanted) => exit::exit_fits(wanted, run).err(),
        // A caller must be able to tell a denial from a success by the exit alone.
        None if matches!(case.expect.decision, ExpectedDecision::Denied(_)) => {
            exit::exit_fits(&ExitExpect::Nonzero, run).err()
        }
        None => None,
    };
    broken.map_or(Ok(()), |message| {
        Err(match is_refused(case, run) {
            true => VerdictFinding::over_block(Reason::Exit, message),
            false => VerdictFinding::contract(Reason::Exit, message),
        })
    })
}

/// Returns whether an act that is contained, and is to succeed all the same, says that it was
/// refused.
fn is_refused(case: &Case, run: &RunReport) -> bool {
    let (ExpectedDecision::Contained(denial) | ExpectedDecision::Withheld(denial)) =
        &case.expect.decision
    else {
        return false;
    };
    let listed = denial.errno.iter().map(String::as_str).chain(REFUSALS);
    let is_promised = case.expect.exit == Some(ExitExpect::Code(0));
    is_promised && exit::check_errno_text(case, &listed.collect::<Vec<_>>(), run).is_ok()
}

fn streams(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    if let Some(shown) = run.shown.as_ref().filter(|shown| shown.stdout.bytes > 0) {
        let message = format!(
            "what was to be captured went to stdout: {:?}",
            exit::excerpt(&shown.stdout.text)
        );
        return Err(VerdictFinding::contract(Reason::Stream, message));
    }
    let looks = [
        ("stdout", Some(&run.stdout), &case.expect.stdout),
        ("stderr", Some(&run.stderr), &case.expect.stderr),
        ("the backend's stderr", run.shown.as_ref().map(|shown| &shown.stderr), &case.expect.shown),
    ];
    let looks =
        looks.into_iter().filter_map(|(name, stream, wanted)| Some((name, stream?, wanted)));
    let mut broken = looks.filter_map(|(name, stream, wanted)| {
        wanted.as_ref().and_then(|wanted| unlike(name, stream, wanted))
    });
    broken.next().map_or(Ok(()), |message| Err(VerdictFinding::contract(Reason::Stream, message)))
}

/// Returns whether the act wrote on its stdout the text that the case looks for, if it looks for
/// any.
pub(super) fn spoken(case: &Case, run: &RunReport) -> bool {
    let wanted = case.expect.stdout.iter().flat_map(|stdout| &stdout.contains);
    let wanted: Vec<_> = wanted.filter(|text| !text.is_empty()).collect();
    let whole = case.expect.stdout.as_ref().and_then(|stdout| stdout.equals.as_ref());
    if let Some(whole) = whole.filter(|whole| !whole.is_empty()) {
        return is(&run.stdout, whole);
    }
    !wanted.is_empty() && wanted.into_iter().all(|text| run.stdout.found.contains(text))
}

/// Returns whether the act wrote text that the case looks for and that is not in its command line.
pub(super) fn unguessed(case: &Case, run: &RunReport) -> bool {
    let line = match case.act() {
        Act::Sh(line) => line.clone(),
        Act::Argv(argv) => argv.join(" "),
        Act::Probe { .. } | Act::Decide(_) | Act::Receipts(_) => return false,
    };
    let stdout = case.expect.stdout.iter();
    let mut wanted = stdout.flat_map(|stdout| stdout.contains.iter().chain(&stdout.equals));
    spoken(case, run) && wanted.any(|text| !text.trim().is_empty() && !line.contains(text.trim()))
}

fn unlike(name: &str, stream: &CapturedStream, wanted: &StreamExpect) -> Option<String> {
    let excerpt = exit::excerpt(&stream.text);
    if let Some(part) = wanted.contains.iter().find(|part| !stream.found.contains(part)) {
        return Some(format!("{name} lacks {part:?}: {excerpt:?}"));
    }
    if let Some(whole) = wanted.equals.as_ref().filter(|whole| !is(stream, whole)) {
        return Some(format!("{name} is {excerpt:?} instead of {:?}", exit::excerpt(whole)));
    }
    let unwanted = wanted.lacks.iter().find(|part| stream.found.contains(part))?;
    Some(format!("{name} contains {unwanted:?}: {excerpt:?}"))
}

/// Returns whether `stream` consists of exactly this text.
fn is(stream: &CapturedStream, text: &str) -> bool {
    stream.sha256 == format!("{:x}", Sha256::digest(text))
}
