//! Cases that a backend of some kind cannot be asked. Main functions: [`reason`], [`unprotects`].

use boxproof_cases::Case;
use boxproof_cases::case::CaseStep;
use boxproof_cases::protocol::{Protect, RunRequest};

use super::Runner;
use crate::backend::Backend;
use crate::execution::ArmKind;
use crate::workspace::ArmWorkspace;

/// The reason not to ask a case that waits for output of a backend that holds it back.
const UNHEARD: &str =
    "it hands the command's output on only when that has ended, so the act is not heard meanwhile";
/// The reason not to ask a case about survivors of a backend whose processes cannot be seen.
const UNSEEN: &str = "its processes are not in the host's /proc, where this case looks for them";

/// The reason not to ask a case that tells stdout from stderr of a backend that has one text of both.
const UNDIVIDED: &str = "its report has stdout and stderr in one text, which this case tells apart";

/// The reason for a double that only keeps silent to have no twin: it must fail without one.
const ONE_ANSWER: &str = "its answer does not depend on the policy";

/// Returns why the arm `kind` of `case` cannot be asked of `backend`, if it cannot.
pub(super) fn reason(case: &Case, kind: ArmKind, backend: &Backend) -> Option<&'static str> {
    if case.listens() && kind != ArmKind::Control && !backend.is_heard() {
        return Some(UNHEARD);
    }
    if case.asks_for_survivors() && kind != ArmKind::Control && !backend.is_in_proc() {
        return Some(UNSEEN);
    }
    if tells_streams_apart(case) && kind != ArmKind::Control && backend.is_agent() {
        return Some(UNDIVIDED);
    }
    let is_silent = backend.double().is_some_and(|double| !double.forges());
    (kind == ArmKind::Twin && is_silent).then_some(ONE_ANSWER)
}

/// Returns whether `case` asks for what only one of the two streams must hold.
fn tells_streams_apart(case: &Case) -> bool {
    let stdout = case.expect.stdout.as_ref();
    case.expect.stderr.is_some() || stdout.is_some_and(|stdout| !stdout.lacks.is_empty())
}

/// Returns whether `request` is a twin's, and wider by taking back the protection of names.
///
/// # Errors
/// An unknown variable in the case's own policy.
pub(super) fn unprotects(
    runner: &Runner<'_>,
    (step, request): (&CaseStep, &RunRequest),
    workspace: &ArmWorkspace,
) -> Result<bool, String> {
    if runner.kind != ArmKind::Twin || request.policy.protect != Protect::None {
        return Ok(false);
    }
    let own = runner.policy_of(ArmKind::Confined, step, workspace)?;
    Ok(own.protect != Protect::None)
}
