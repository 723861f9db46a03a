//! What an arm left: nothing is there afterwards that the act does not make without a sandbox.

use boxproof_reports::Verdict;

use super::reason::{Finding, Reason};
use crate::execution::{Arm, Exit, Report};

/// Nothing outlived `arm` or crossed into it that the control does not leave, too.
pub(super) fn behind(when: &str, arm: Option<&Arm>, control: Option<&Arm>) -> Result<(), Finding> {
    let Some(Arm::Done(report)) = arm else { return Ok(()) };
    if timed_out(report) {
        // The harness ended it by force; what that leaves is not the backend's doing.
        return Ok(());
    }
    // A file outside every folder of ours may be the act itself, where the policy grants it.
    let acts_own = |leak: &&String| match control {
        Some(Arm::Done(control)) => control.leaks.contains(leak),
        _ => false,
    };
    match report.leaks.iter().find(|leak| !acts_own(leak)) {
        Some(leak) => {
            Err(Finding::new(Verdict::Leak, Reason::LeftBehind, format!("{when}, {leak}")))
        }
        None => Ok(()),
    }
}

/// Nothing is in the folders that the control did not put there, too.
pub(super) fn residue(control: Option<&Report>, confined: &Report) -> Result<(), Finding> {
    let Some(control) = control.filter(|_| !timed_out(confined)) else { return Ok(()) };
    match confined.appeared.iter().find(|path| !control.appeared.contains(path)) {
        Some(path) => Err(Finding::new(
            Verdict::Leak,
            Reason::Residue,
            format!("{path} is there, which the act does not make without a sandbox"),
        )),
        None => Ok(()),
    }
}

/// Whether the harness had to end a run of it.
pub(super) fn timed_out(report: &Report) -> bool {
    let steps = report.broken.iter().map(|step| &step.run);
    report.runs.iter().chain(steps).any(|run| run.exit == Exit::TimedOut)
}
