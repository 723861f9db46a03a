//! Objects without a nonce that arms seem to leave on the host: which pairs are looked at again,
//! alone, and what that proves. Main functions: [`suspected`], [`confirm`] and [`convict`].

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use boxproof_reports::Verdict;

use crate::execution::{ArmRecord, ArmReport, CaseExecution};
use crate::judge::{Judgement, Reason, judge};
use crate::schedule::JobSchedule;
use crate::sweep::{StrayRecurrence, stray_kind};

/// The observation and conclusion of each (case, backend).
type JudgedExecutions = HashMap<(usize, usize), (CaseExecution, Judgement)>;

/// The number of pairs of one backend that are looked at again: the others are judged by their
/// results.
const LOOKED_AT: usize = 4;
/// The number of times that an arm is executed to prove what it leaves.
const TRIES: usize = 2;

/// The pairs to execute again: they passed, and something appeared meanwhile that did not appear
/// in their control.
pub(crate) fn suspected(judged: &JudgedExecutions) -> Vec<(usize, usize)> {
    let passed = judged.iter().filter(|(_, (_, judgement))| judgement.verdict == Verdict::Pass);
    let mut pairs: Vec<(usize, usize)> = passed
        .filter(|(_, (execution, _))| !kinds(execution).is_empty())
        .map(|(pair, _)| *pair)
        .collect();
    pairs.sort_unstable();
    let mut looked_at: HashMap<usize, usize> = HashMap::new();
    pairs.retain(|(_, backend)| {
        let count = looked_at.entry(*backend).or_default();
        *count += 1;
        *count <= LOOKED_AT
    });
    pairs
}

/// The kinds of objects that appeared during the sandboxed arms and not during the control.
fn kinds(execution: &CaseExecution) -> BTreeSet<String> {
    let sandboxed = &kinds_of(&execution.confined) | &kinds_of(&execution.twin);
    &sandboxed - &kinds_of(&execution.control)
}

fn kinds_of(arm: &Option<ArmRecord>) -> BTreeSet<String> {
    let strays = arm.as_ref().and_then(report).map(|report| report.strays.as_slice());
    strays.unwrap_or_default().iter().map(|stray| stray_kind(stray)).collect()
}

/// Takes out what the act leaves without a sandbox, too.
fn without_acts_own(mut execution: CaseExecution) -> CaseExecution {
    let own = kinds_of(&execution.control);
    for arm in [&mut execution.confined, &mut execution.twin] {
        if let Some(ArmRecord::Done(report)) = arm {
            report.strays.retain(|stray| !own.contains(&stray_kind(stray)));
            let leaks = report.strays.iter().map(|stray| format!("{stray} was left on the host"));
            report.leaks.extend(leaks);
        }
    }
    execution
}

fn report(arm: &ArmRecord) -> Option<&ArmReport> {
    match arm {
        ArmRecord::Done(report) => Some(report),
        _ => None,
    }
}

/// Executes an arm several times with `run`. The strays of the last execution are those that it is
/// proven to leave on the host.
pub(crate) fn confirm(run: impl Fn() -> ArmRecord) -> ArmRecord {
    let mut recurrence = StrayRecurrence::default();
    let mut arm = run();
    for tried in 1..=TRIES {
        let Some(report) = report(&arm) else { return arm };
        let duration = Duration::from_secs_f64(report.duration_ms / 1000.0);
        recurrence.executed(&report.strays, duration);
        if report.strays.is_empty() || tried == TRIES {
            break;
        }
        arm = run();
    }
    if let ArmRecord::Done(report) = &mut arm {
        report.strays = recurrence.proven();
    }
    arm
}

/// Judges by what was `seen` when `order` was executed: a pair that leaves something is a leak, and
/// so is every other one of the backend during which the same kind of object appeared.
pub(crate) fn convict(
    order: &JobSchedule,
    seen: HashMap<(usize, usize), CaseExecution>,
    judged: &mut JudgedExecutions,
) {
    let mut proven: HashMap<usize, BTreeSet<String>> = HashMap::new();
    for ((case, backend), execution) in seen {
        let execution = without_acts_own(execution);
        let judgement = judge(&order.cases[case], &execution);
        if judgement.verdict == Verdict::Leak {
            proven.entry(backend).or_default().extend(kinds(&execution));
            judged.insert((case, backend), (execution, judgement));
        }
    }
    for ((_, backend), (execution, judgement)) in judged.iter_mut() {
        let Some(proven) = proven.get(backend) else { continue };
        let Some(kind) = kinds(execution).into_iter().find(|kind| proven.contains(kind)) else {
            continue;
        };
        if judgement.verdict == Verdict::Pass {
            judgement.verdict = Verdict::Leak;
            Reason::LeftBehind.word().clone_into(&mut judgement.reason);
            judgement.message = format!("{kind} was left on the host, as by other cases");
        }
    }
}
