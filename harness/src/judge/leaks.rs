//! Leaks: anything that outlived an arm or crossed into it, and that the act does not leave without
//! a sandbox.

use boxproof_reports::Verdict;

use super::reason::{Reason, VerdictFinding};
use crate::execution::{ArmRecord, ArmReport, ProcessExit};

/// Checks that nothing outlived `arm` or crossed into it that the control does not leave, too.
pub(super) fn behind(
    when: &str,
    arm: Option<&ArmRecord>,
    control: Option<&ArmRecord>,
) -> Result<(), VerdictFinding> {
    let Some(ArmRecord::Done(report)) = arm else { return Ok(()) };
    if let Some(process) = report.outlasting.first() {
        let message = format!("{when}, {process} outlived the whole run");
        return Err(VerdictFinding::new(Verdict::Leak, Reason::LeftBehind, message));
    }
    if timed_out(report) {
        // The harness ended it by force; the leftovers of that are not the backend's doing.
        return Ok(());
    }
    // A file outside every directory of ours may be the act itself, where the policy grants it.
    let acts_own = |leak: &&String| match control {
        Some(ArmRecord::Done(control)) => control.leaks.contains(leak),
        _ => false,
    };
    match report.leaks.iter().find(|leak| !acts_own(leak)) {
        Some(leak) => {
            Err(VerdictFinding::new(Verdict::Leak, Reason::LeftBehind, format!("{when}, {leak}")))
        }
        None => Ok(()),
    }
}

/// Returns whether the harness had to end a run of the report.
pub(super) fn timed_out(report: &ArmReport) -> bool {
    let steps = report.broken.iter().map(|step| &step.run);
    report.runs.iter().chain(steps).any(|run| run.exit == ProcessExit::TimedOut)
}
