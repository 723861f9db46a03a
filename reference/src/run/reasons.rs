//! The reason for a failed run, as messages and as a verdict, from the observations.

use std::path::PathBuf;

use boxproof_cases::protocol::{Blocked, ErrorKind, EventScope, RunResult};

use super::KnownRefusals;
use crate::egress::DeniedHost;
use crate::error::Refusal;
use crate::explain::{self, CompletedRun};
use crate::policy::MechanismName;
use crate::request::RunJob;
use crate::result;
use crate::supervise::RunOutcome;
use crate::sys::launcher_environment;

/// Returns the note for a confined command that itself ended with a code of failure.
pub(super) fn closed<'a>(
    order: &'a RunJob,
    mechanism: MechanismName,
    result: &RunResult,
) -> Option<&'a str> {
    let failed = result.exit_code.is_some_and(|code| code != 0) && result.interrupted_by.is_none();
    let confined = mechanism != MechanismName::Unconfined;
    order.on_failure.as_deref().filter(|_| failed && confined)
}

/// Returns the destinations that the command was denied, a line each.
pub(super) fn unreached_lines(unreached: &[DeniedHost], order: &RunJob) -> Vec<String> {
    if unreached.is_empty() {
        return Vec::new();
    }
    let secrets = secrets(order);
    let line = |DeniedHost { destination, why, .. }: &DeniedHost| {
        format!("network_restricted: {destination}: {why}")
    };
    unreached.iter().map(|one| explain::hidden(line(one), &secrets)).collect()
}

/// Values that must not be shown.
pub(super) fn secrets(order: &RunJob) -> Vec<String> {
    let launcher = launcher_environment();
    let inherited = launcher.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let set = order.policy.env.set.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
    explain::secrets(inherited.chain(set))
}

/// Returns the explanation of the failure, if the sandbox is its cause.
pub(super) fn blocked(
    outcome: &RunOutcome,
    mechanism: MechanismName,
    order: &RunJob,
    refusal: Option<&Refusal>,
    known: &KnownRefusals,
) -> Option<Blocked> {
    if let Some(refusal) = refusal {
        let secrets = secrets(order);
        let unstarted =
            || explain::explain_unstarted(&explained_run(order, &[], &secrets), explain::HOST);
        let is_closed = refusal.kind == ErrorKind::Spawn && mechanism != MechanismName::Unconfined;
        return result::why_blocked(refusal).or_else(|| is_closed.then(unstarted).flatten());
    }
    let ending = result::RunEnding::from_outcome(outcome);
    if mechanism == MechanismName::Unconfined || !outcome.started || ending.is_forced() {
        return None;
    }
    let secrets = secrets(order);
    // A refusal of the proxy is known, not guessed; a run that succeeded found another way.
    let unreached = known.unreached.first().filter(|_| !fault!("explain.proxy-denials"));
    if let Some(denied) = unreached.filter(|_| ending.exit_code != Some(0)) {
        return Some(explain::unreached(denied, &secrets));
    }
    let captured = outcome.captured.as_ref();
    let finished = CompletedRun {
        exit_code: ending.exit_code,
        signal: ending.signal,
        stdout: captured.map_or(&[], |captured| &captured.stdout),
        stderr: captured.map(|captured| captured.stderr.as_slice()),
        refused: &known.denials.changes,
        observed: captured.is_some()
            && order.run.events == EventScope::All
            && matches!(mechanism, MechanismName::Namespaces | MechanismName::Bubblewrap),
        sockets: &known.denials.sockets,
        unrouted: &known.denials.unrouted,
        refused_routes: known.refused_routes,
        ..explained_run(order, &known.held, &secrets)
    };
    explain::explain(&finished, explain::HOST)
}

/// Returns the run of `order` before it has begun; `held` are the paths that protection covers in it.
pub(super) fn explained_run<'a>(
    order: &'a RunJob,
    held: &'a [PathBuf],
    secrets: &'a [String],
) -> CompletedRun<'a> {
    CompletedRun {
        policy: &order.policy,
        law: order.law.as_deref(),
        command: &order.run.command,
        original: order.run.original_command.as_deref().filter(|_| !fault!("explain.typed-line")),
        cwd: order.run.cwd.as_path(),
        exit_code: None,
        signal: None,
        stdout: &[],
        stderr: None,
        refused: &[],
        observed: false,
        unrouted: &[],
        sockets: &[],
        refused_routes: None,
        held,
        dialect: order.dialect,
        root: nix::unistd::geteuid().is_root(),
        secrets,
    }
}
