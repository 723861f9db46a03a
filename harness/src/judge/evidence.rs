//! Evidence: whether the host's observations can be relied on. A reading that failed says nothing,
//! and a backend that spoils the evidence gains nothing by it.

use boxproof_cases::Case;
use boxproof_reports::Verdict;

use super::reason::{Reason, VerdictFinding};
use crate::execution::{ArmRecord, ArmReport, BEYOND_BOUND};

/// The arm's own directories are what was laid out, as far as the act leaves them without a sandbox.
pub(super) fn stands(
    case: &Case,
    confined: &ArmReport,
    control: Option<&ArmRecord>,
) -> Result<(), VerdictFinding> {
    let acts_own = |sentence: &&String| match control {
        Some(ArmRecord::Done(control)) => control.spoilt.contains(sentence) && !is_shared(sentence),
        _ => false,
    };
    let Some(sentence) = confined.spoilt.iter().find(|sentence| !acts_own(sentence)) else {
        return Ok(());
    };
    let done = format!("{sentence} after the run, which the act does not do without a sandbox");
    Err(match case.expect.decision.is_negative() {
        true => VerdictFinding::new(
            Verdict::UnderBlock,
            Reason::Oracle,
            format!("what must not happen can hide: {done}"),
        ),
        false => VerdictFinding::contract(Reason::Tree, done),
    })
}

/// Returns whether `sentence` is about a directory that other arms use, too: no act is near it, but
/// what another arm did to it may show in a control.
fn is_shared(sentence: &str) -> bool {
    ["$RUN ", "$WORKER "].iter().any(|name| sentence.starts_with(name))
}

/// The word of the act counts, and every oracle of the confined arm was read.
pub(super) fn counts(
    confined: &ArmReport,
    control: Option<&ArmRecord>,
) -> Result<(), VerdictFinding> {
    let control = match control {
        Some(ArmRecord::Done(control)) => control.distrust.clone(),
        _ => None,
    };
    if let Some(why) = confined.distrust.clone().or(control) {
        let message = format!("what was seen does not count: {why}");
        return Err(VerdictFinding::error(Reason::Harness, message));
    }
    unread(confined).map_or(Ok(()), |why| Err(VerdictFinding::unread(why)))
}

/// Names an oracle that could not be read, with the reason, if there is one.
pub(super) fn unread(report: &ArmReport) -> Option<String> {
    let reading = report.oracles.iter().find(|reading| reading.unread)?;
    Some(format!("the oracle `{}` says nothing: {}", reading.oracle, reading.saw))
}

/// Checks that the sandbox fills no directory beyond what one look takes, where the act without a
/// sandbox does not: that is residue, be the act done or not.
pub(super) fn is_within_bounds(
    confined: &ArmReport,
    control: Option<&ArmReport>,
) -> Result<(), VerdictFinding> {
    let beyond = |report: &ArmReport| {
        let found = report.unseen.iter().find(|why| why.contains(BEYOND_BOUND));
        found.cloned()
    };
    let filled = beyond(confined).filter(|_| control.is_some_and(|arm| beyond(arm).is_none()));
    filled.map_or(Ok(()), |why| {
        let message = format!("{why}, and without a sandbox there are fewer");
        Err(VerdictFinding::new(Verdict::Leak, Reason::Residue, message))
    })
}

/// Checks that every directory of the arm was seen whole.
pub(super) fn is_whole(name: &str, report: &ArmReport) -> Result<(), VerdictFinding> {
    report.unseen.first().map_or(Ok(()), |why| {
        let message = format!("{name}: the directories were not seen whole: {why}");
        Err(VerdictFinding::error(Reason::Harness, message))
    })
}
