//! Objects without a nonce that arms seem to leave on the host: which pairs are looked at again,
//! alone, and what that proves. Main functions: [`suspected`], [`confirm`] and [`convict`].

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use boxproof_reports::Verdict;

use crate::case_pair::CasePair;
use crate::execution::{ArmRecord, CaseExecution};
use crate::judge::judge;
use crate::schedule::JobSchedule;
use crate::sweep::{StrayRecurrence, stray_kind};
use crate::tries::JudgedPairs;

/// The number of pairs of one backend that are looked at again: the others are judged by their
/// results.
const LOOKED_AT: usize = 4;
/// The number of times that an arm is executed to prove what it leaves.
const TRIES: usize = 2;

/// The pairs to execute again: they passed, and something appeared meanwhile that did not appear
/// in their control.
pub(crate) fn suspected(judged: &JudgedPairs) -> Vec<CasePair> {
    let passed = judged.iter().filter(|(_, (_, judgement))| judgement.verdict == Verdict::Pass);
    let mut pairs: Vec<CasePair> = passed
        .filter(|(_, (execution, _))| !kinds(execution).is_empty())
        .map(|(pair, _)| *pair)
        .collect();
    pairs.sort_unstable();
    let mut looked_at: HashMap<usize, usize> = HashMap::new();
    pairs.retain(|pair| {
        let count = looked_at.entry(pair.backend).or_default();
        *count += 1;
        *count <= LOOKED_AT
    });
    pairs
}

/// The kinds of objects that appeared during the sandboxed arms and not during the control.
fn kinds(execution: &CaseExecution) -> BTreeSet<String> {
    let CaseExecution::Arms(arms) = execution else { return BTreeSet::new() };
    let sandboxed: BTreeSet<String> = arms.sandboxed().flat_map(kinds_of).collect();
    &sandboxed - &arms.control.iter().flat_map(kinds_of).collect()
}

fn kinds_of(arm: &ArmRecord) -> BTreeSet<String> {
    let strays = arm.done().map(|report| report.strays.as_slice());
    strays.unwrap_or_default().iter().map(|stray| stray_kind(stray)).collect()
}

/// Takes out what the act leaves without a sandbox, too.
fn without_acts_own(mut execution: CaseExecution) -> CaseExecution {
    let CaseExecution::Arms(arms) = &mut execution else { return execution };
    let own: BTreeSet<String> = arms.control.iter().flat_map(kinds_of).collect();
    for report in arms.sandboxed_mut().filter_map(ArmRecord::done_mut) {
        report.strays.retain(|stray| !own.contains(&stray_kind(stray)));
        let leaks = report.strays.iter().map(|stray| format!("{stray} was left on the host"));
        report.leaks.extend(leaks);
    }
    execution
}

/// Adds to what was seen of the arm under test that `kind` was left, as by other cases.
fn add_leak(execution: &mut CaseExecution, kind: &str) {
    if let CaseExecution::Arms(arms) = execution
        && let Some(report) = arms.confined.done_mut()
    {
        report.leaks.push(format!("{kind} was left on the host, as by other cases"));
    }
}

/// Executes an arm several times with `run`. The strays of the last execution are those that it is
/// proven to leave on the host.
pub(crate) fn confirm(run: impl Fn() -> ArmRecord) -> ArmRecord {
    let mut recurrence = StrayRecurrence::default();
    let mut arm = run();
    for tried in 1..=TRIES {
        let Some(report) = arm.done() else { return arm };
        let duration = Duration::from_secs_f64(report.duration_ms / 1000.0);
        recurrence.executed(&report.strays, duration);
        if report.strays.is_empty() || tried == TRIES {
            break;
        }
        arm = run();
    }
    if let Some(report) = arm.done_mut() {
        report.strays = recurrence.proven();
    }
    arm
}

/// Judges by what was `seen` when `order` was executed: a pair that leaves something is a leak, and
/// so is every other one of the backend during which the same kind of object appeared.
pub(crate) fn convict(
    order: &JobSchedule,
    seen: HashMap<CasePair, CaseExecution>,
    judged: &mut JudgedPairs,
) {
    let mut proven: HashMap<usize, BTreeSet<String>> = HashMap::new();
    for (pair, execution) in seen {
        let execution = without_acts_own(execution);
        let judgement = judge(&order.cases[pair.case], &execution);
        if judgement.verdict == Verdict::Leak {
            proven.entry(pair.backend).or_default().extend(kinds(&execution));
            judged.insert(pair, (execution, judgement));
        }
    }
    for (pair, (execution, judgement)) in judged.iter_mut() {
        let Some(proven) = proven.get(&pair.backend) else { continue };
        let kind = kinds(execution).into_iter().find(|kind| proven.contains(kind));
        if let Some(kind) = kind.filter(|_| judgement.verdict == Verdict::Pass) {
            add_leak(execution, &kind);
            *judgement = judge(&order.cases[pair.case], execution);
        }
    }
}
