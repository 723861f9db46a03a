//! The judge: from a case and what was observed of it to a verdict. Pure; it executes nothing.
//!
//! Main function: [`judge`]. An observation that is missing is never a denial: without one the
//! verdict is inconclusive, whatever the exit code says.

mod decide;
mod effect;
mod reason;

use boxproof_cases::Case;
use boxproof_cases::case::{Compare, Control, Decision, Twin};
use boxproof_reports::{TwinState, Verdict};

use crate::execution::{Arm, Execution, Exit, Report};

/// What the judge concludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, as a short stable code; empty for a plain pass.
    pub reason: String,
    /// Why, as one sentence for people; empty for a plain pass.
    pub message: String,
    /// What the twin showed.
    pub twin: TwinState,
}

/// A verdict with its reason, on the way to a [`Judgement`].
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    verdict: Verdict,
    reason: &'static str,
    message: String,
}

impl Finding {
    fn new(verdict: Verdict, reason: &'static str, message: impl Into<String>) -> Self {
        Self { verdict, reason, message: message.into() }
    }

    fn inconclusive(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Verdict::Inconclusive, reason, message)
    }
}

/// What is concluded of `case` from `execution`.
pub fn judge(case: &Case, execution: &Execution) -> Judgement {
    let twin = twin_state(case, execution);
    match conclude(case, execution) {
        Ok(()) => Judgement {
            verdict: Verdict::Pass,
            reason: String::new(),
            message: String::new(),
            twin,
        },
        Err(finding) => Judgement {
            verdict: finding.verdict,
            reason: finding.reason.to_owned(),
            message: finding.message,
            twin,
        },
    }
}

fn twin_state(case: &Case, execution: &Execution) -> TwinState {
    match (&case.twin, &execution.twin) {
        (Some(Twin::None(_)), _) => TwinState::None,
        (Some(Twin::Overlay(_)), Some(Arm::Inexpressible(_))) => TwinState::Inexpressible,
        (Some(Twin::Overlay(_)), Some(Arm::Done(twin))) if effect::shown(case, twin).is_ok() => {
            TwinState::Shown
        }
        (Some(Twin::Overlay(_)), _) => TwinState::None,
        (None, _) => TwinState::NotNeeded,
    }
}

fn conclude(case: &Case, execution: &Execution) -> Result<(), Finding> {
    let confined = report("confined", execution.confined.as_ref())?;
    let control = control(case, execution)?;
    if let Some(why) = &confined.prelude {
        return Err(Finding::inconclusive("step-failed", format!("in the sandbox, {why}")));
    }
    let decided = decide::decide(case, control, confined);
    // What was seen to happen outweighs everything that was not.
    if let Err(finding) = &decided
        && matches!(finding.verdict, Verdict::UnderBlock | Verdict::Error)
    {
        return decided;
    }
    leaks(control, confined)?;
    decided?;
    twin(case, execution)
}

/// The report of an arm, or why there is none.
fn report<'a>(name: &str, arm: Option<&'a Arm>) -> Result<&'a Report, Finding> {
    match arm {
        Some(Arm::Done(report)) => Ok(report),
        Some(Arm::Inexpressible(why)) => {
            Err(Finding::new(Verdict::Unsupported, "inexpressible", why.clone()))
        }
        Some(Arm::Fault(why)) => {
            Err(Finding::new(Verdict::Error, "harness", format!("{name}: {why}")))
        }
        None => Err(Finding::new(Verdict::Error, "harness", format!("the {name} arm is missing"))),
    }
}

/// The control, if there is one, after it has shown the act to be possible.
fn control<'a>(case: &Case, execution: &'a Execution) -> Result<Option<&'a Report>, Finding> {
    if let Control::None(_) = case.control {
        return Ok(None);
    }
    let control = report("control", execution.control.as_ref())?;
    if let Some(why) = &control.prelude {
        return Err(Finding::inconclusive("control-failed", format!("without a sandbox, {why}")));
    }
    let shown = match case.expect.decision {
        Decision::Allowed => effect::works(case, control),
        _ => effect::shown(case, control),
    };
    shown.map_err(|why| {
        Finding::inconclusive("control-failed", format!("without a sandbox, {why}"))
    })?;
    Ok(Some(control))
}

/// Nothing is left, and nothing is in the folders that the control did not put there, too.
fn leaks(control: Option<&Report>, confined: &Report) -> Result<(), Finding> {
    if confined.runs.iter().any(|run| run.exit == Exit::TimedOut) {
        // The harness ended it by force; what that leaves is not the backend's doing.
        return Ok(());
    }
    if let Some(leak) = confined.leaks.first() {
        return Err(Finding::new(Verdict::Leak, "left-behind", leak.clone()));
    }
    let Some(control) = control else { return Ok(()) };
    match confined.appeared.iter().find(|path| !control.appeared.contains(path)) {
        Some(path) => Err(Finding::new(
            Verdict::Leak,
            "residue",
            format!("{path} is there, which the act does not make without a sandbox"),
        )),
        None => Ok(()),
    }
}

/// The same act succeeds under the wider policy, where the backend can express that.
fn twin(case: &Case, execution: &Execution) -> Result<(), Finding> {
    let Some(Twin::Overlay(_)) = case.twin else { return Ok(()) };
    let twin = match execution.twin.as_ref() {
        Some(Arm::Inexpressible(_)) => return Ok(()),
        arm => report("twin", arm)?,
    };
    if let Some(why) = &twin.prelude {
        return Err(Finding::inconclusive("twin-failed", format!("under the twin, {why}")));
    }
    if twin.runs.iter().any(|run| run.exit == Exit::TimedOut) {
        return Err(Finding::inconclusive("twin-timed-out", "the twin did not end in time"));
    }
    effect::shown(case, twin).map_err(|why| {
        let message = format!("under the wider policy of the twin, {why}");
        Finding::new(Verdict::OverBlock, "twin", message)
    })
}

/// What an allowed act shares with its control.
fn same(case: &Case, control: &Report, confined: &Report) -> Result<(), Finding> {
    for (run, control) in confined.runs.iter().zip(&control.runs) {
        if case.expect.compare.contains(&Compare::Stdout) && run.stdout != control.stdout {
            return Err(Finding::new(
                Verdict::Contract,
                "stdout",
                format!(
                    "stdout differs from the control's: {} bytes {:?} instead of {} bytes {:?}",
                    run.stdout.bytes,
                    reason::excerpt(&run.stdout.text),
                    control.stdout.bytes,
                    reason::excerpt(&control.stdout.text),
                ),
            ));
        }
    }
    if case.expect.compare.contains(&Compare::Tree)
        && let Some((path, what)) =
            control.tree.iter().find(|(path, what)| confined.tree.get(*path) != Some(what))
    {
        let now = confined.tree.get(path).map_or("nothing", String::as_str);
        let message = format!("{path} is {now} instead of {what}");
        return Err(Finding::new(Verdict::Contract, "tree", message));
    }
    Ok(())
}
