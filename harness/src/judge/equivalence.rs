//! Equality of an allowed act with its control: output and end state.

use boxproof_cases::Case;
use boxproof_cases::case::Compare;

use super::exit;
use super::reason::{Reason, VerdictFinding};
use crate::execution::{ArmReport, RunReport};

/// Checks that stdout of every run and the end state are the control's, as far as the case compares
/// them.
pub(super) fn same(
    case: &Case,
    control: &ArmReport,
    confined: &ArmReport,
) -> Result<(), VerdictFinding> {
    if case.expect.compare.contains(&Compare::Stdout) {
        let mut runs = confined.runs.iter().zip(&control.runs);
        runs.try_for_each(|(run, control)| same_stdout(control, run))?;
    }
    if case.expect.compare.contains(&Compare::Tree) { same_tree(control, confined) } else { Ok(()) }
}

fn same_stdout(control: &RunReport, run: &RunReport) -> Result<(), VerdictFinding> {
    if run.stdout == control.stdout {
        return Ok(());
    }
    let message = format!(
        "stdout differs from the control's: {} bytes {:?} instead of {} bytes {:?}",
        run.stdout.bytes,
        exit::excerpt(&run.stdout.text),
        control.stdout.bytes,
        exit::excerpt(&control.stdout.text),
    );
    Err(VerdictFinding::contract(Reason::Stdout, message))
}

/// Compares the trees both ways: an entry that an act removes must be gone, too.
fn same_tree(control: &ArmReport, confined: &ArmReport) -> Result<(), VerdictFinding> {
    let mut paths = control.tree.keys().chain(confined.tree.keys());
    let Some(path) = paths.find(|path| control.tree.get(*path) != confined.tree.get(*path)) else {
        return Ok(());
    };
    let [now, wanted] =
        [confined, control].map(|arm| arm.tree.get(path).map_or("nothing", String::as_str));
    Err(VerdictFinding::contract(Reason::Tree, format!("{path} is {now} instead of {wanted}")))
}
