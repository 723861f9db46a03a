//! What an arm left: nothing is there afterwards that the act does not make without a sandbox.

use boxproof_reports::Verdict;

use super::reason::{Finding, Reason};
use crate::execution::{Arm, Exit, Report};

/// Nothing outlived the arm or crossed into it.
pub(super) fn behind(when: &str, report: &Report) -> Result<(), Finding> {
    if timed_out(report) {
        // The harness ended it by force; what that leaves is not the backend's doing.
        return Ok(());
    }
    match report.leaks.first() {
        Some(leak) => {
            Err(Finding::new(Verdict::Leak, Reason::LeftBehind, format!("{when}, {leak}")))
        }
        None => Ok(()),
    }
}

/// The same of the twin: the backend is the same, and so is its promise.
pub(super) fn behind_twin(twin: &Arm) -> Result<(), Finding> {
    match twin {
        Arm::Done(report) => behind("under the twin", report),
        Arm::Inexpressible(_) | Arm::Fault(_) => Ok(()),
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
    report.runs.iter().any(|run| run.exit == Exit::TimedOut)
}
