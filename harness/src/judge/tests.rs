//! Tests of the judge, on hand-made executions: the smallest case of each kind, and the
//! execution that passes it, to be spoilt.

mod channel;
mod grants;
mod messages;
mod properties;
mod question;
mod race;
mod residue;
mod second_look;
mod settings;
mod status;
mod supervised;
mod table;

use std::collections::BTreeMap;

use boxproof_cases::Case;
use boxproof_cases::case::{Act, ExpectedDecision, Moment, Twin};
use boxproof_cases::protocol::{ErrorKind, PROTOCOL, RunError, RunResult};
use boxproof_probes::{ActOutcome, ProbeRecord};

use super::{Judgement, judge};
use crate::backend::SpecialExit;
use crate::execution::{
    ArmKind, ArmRecord, ArmReport, ArmSet, BrokenStep, CapturedStream, CaseExecution, MomentStamp,
    OracleReading, ProbeObservation, ProcessExit, RunReport,
};
use crate::testing::case;

/// Makes an execution differ from a good one.
type Spoil = fn(&mut ArmSet);

/// A probe's act that must be refused.
const DENIED: &str = "fixture: {f: x}
act: {probe: write, path: f, text: y}
expect: {denied: {errno: [EROFS], signal: [SYS]}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

/// A tool's act that must be refused.
const TOLD: &str = "fixture: {f: x}
act: {sh: 'echo y > f'}
expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

/// A probe's act that must show no effect.
const CONTAINED: &str = "fixture: {f: x}
act: {probe: write, path: f, text: y}
expect: {contained: {}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

/// A tool's act that must show no effect.
const TOOL_CONTAINED: &str = "fixture: {f: x}
act: {sh: 'echo y > f'}
expect: {contained: {}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

/// A policy that must be declined.
const REFUSED: &str = "fixture: {f: x}
act: {probe: write, path: f, text: y}
expect: {refused: {}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

/// An act that must work, or whose policy is declined by name.
const EITHER: &str = "act: {probe: write, path: f, text: y}
expect: {allowed_or_refused: {says: [two, rules]}, exit: 0, oracle: [{exists: f}]}
";

/// An act that must not happen on a host that cannot confine it.
const WITHHELD: &str = "fixture: {f: x}
act: {probe: write, path: f, text: y}
expect: {withheld: {errno: [ECONNREFUSED]}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

/// A probe's act that must work.
const ALLOWED: &str = "act: {probe: write, path: f, text: y}
expect: {allowed: {}, oracle: [{exists: f}]}
";

/// A tool's act that must work.
const TOOL: &str = "act: {sh: 'echo y > f'}
expect: {allowed: {}, oracle: [{exists: f}]}
";

/// An act that must leave no process behind.
const SURVIVORS: &str = "act: {probe: background, how: plain, stdio: close}
expect: {contained: {}, oracle: [{no_survivors: {}}]}
twin: {none: every policy ends the tree with the command}
";

/// An act that must leave no process behind, and a trace of having begun.
const TRACE: &str = "act: {probe: background, how: plain, stdio: close}
expect: {contained: {}, oracle: [{no_survivors: {}}, {exists: beat}]}
twin: {none: every policy ends the tree with the command}
";

/// A tool's act that a signal ends, and that must leave no process behind.
const ENDED: &str = "act: {sh: 'sleep 60 & echo >beat; wait'}
during: [{when: ready, signal: TERM}]
expect: {contained: {}, oracle: [{no_survivors: {}}, {exists: beat}]}
twin: {none: every policy ends the tree with the run}
";

/// The execution in which everything is as `case` wants it.
fn good(case: &Case) -> ArmSet {
    let arm = |kind| ArmRecord::Done(Box::new(report(case, kind)));
    ArmSet {
        control: Some(arm(ArmKind::Control)),
        twin: matches!(case.twin, Some(Twin::Overlay(_))).then(|| arm(ArmKind::Twin)),
        confined: arm(ArmKind::Confined),
    }
}

/// Judges the arms of an act.
fn judge_act(case: &Case, arms: &ArmSet) -> Judgement {
    judge(case, &CaseExecution::Arms(arms.clone()))
}

fn report(case: &Case, kind: ArmKind) -> ArmReport {
    let works = kind != ArmKind::Confined || case.expect.decision.may_work();
    let run = if works { succeeded(case) } else { stopped(case) };
    let readings = case.expect.oracle.iter().map(|oracle| OracleReading {
        oracle: oracle.to_string(),
        positive: oracle.is_positive(),
        holds: oracle.is_positive() || !works,
        saw: "what it saw".to_owned(),
        unread: false,
    });
    ArmReport {
        nonce: "bx1-2".to_owned(),
        runs: vec![run; (case.repeat * case.parallel) as usize],
        broken: None,
        oracles: readings.collect(),
        tree: BTreeMap::from([("$WS/f".to_owned(), "0644 1 bytes".to_owned())]),
        laid: BTreeMap::new(),
        appeared: if works { vec!["$WS/f".to_owned()] } else { Vec::new() },
        leaks: Vec::new(),
        outlasting: Vec::new(),
        shortages: Vec::new(),
        spoilt: Vec::new(),
        unseen: Vec::new(),
        distrust: None,
        strays: Vec::new(),
        duration_ms: 1.0,
    }
}

fn succeeded(case: &Case) -> RunReport {
    RunReport {
        command: String::new(),
        exit: ProcessExit::Code(0),
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
        observation: act_observation(case, ActOutcome::Succeeded),
        besides: Vec::new(),
        ready: false,
        result: None,
        result_fault: None,
        special: None,
        shown: None,
        moments: Vec::new(),
        watched_ms: 1.0,
        stopped: false,
    }
}

/// A run that was stopped as the case wants it.
fn stopped(case: &Case) -> RunReport {
    let run = succeeded(case);
    match &case.expect.decision {
        ExpectedDecision::Denied(_) => RunReport {
            exit: ProcessExit::Code(1),
            stderr: text("sh: f: Read-only file system"),
            observation: act_observation(case, refusal("EROFS")),
            ..run
        },
        ExpectedDecision::Refused | ExpectedDecision::Withheld(_) => RunReport {
            exit: ProcessExit::Code(126),
            observation: ProbeObservation::Missing,
            result: Some(not_started(ErrorKind::Unsupported)),
            ..run
        },
        // A tool announces itself before it is held.
        ExpectedDecision::Contained(_) => RunReport { ready: !case.act().is_probe(), ..run },
        ExpectedDecision::Allowed
        | ExpectedDecision::AllowedOrRefused(_)
        | ExpectedDecision::Answer(_)
        | ExpectedDecision::Receipts(_) => run,
    }
}

fn act_observation(case: &Case, outcome: ActOutcome) -> ProbeObservation {
    match case.act() {
        Act::Probe { probe, .. } => ProbeObservation::Seen(ProbeRecord {
            probe: probe.clone(),
            outcome,
            detail: BTreeMap::new(),
        }),
        _ => ProbeObservation::NotExpected,
    }
}

/// The record of a probe `write`.
fn recorded(outcome: ActOutcome) -> ProbeObservation {
    ProbeObservation::Seen(ProbeRecord {
        probe: "write".to_owned(),
        outcome,
        detail: BTreeMap::new(),
    })
}

fn refusal(errno: &str) -> ActOutcome {
    ActOutcome::Refused { errno: errno.to_owned(), call: "openat".to_owned() }
}

fn killed(signal: &str) -> ActOutcome {
    ActOutcome::Killed { signal: signal.to_owned() }
}

fn text(text: &str) -> CapturedStream {
    CapturedStream { text: text.to_owned(), bytes: text.len() as u64, ..CapturedStream::default() }
}

fn stamp(moment: Moment, at_ms: f64) -> MomentStamp {
    MomentStamp { moment, at_ms }
}

fn result(exit_code: Option<i32>, signal: Option<i32>) -> RunResult {
    RunResult {
        protocol: PROTOCOL,
        started: true,
        success: exit_code == Some(0),
        exit_code,
        signal,
        timed_out: false,
        interrupted_by: None,
        refused_routes: None,
        events: Vec::new(),
        events_cut: 0,
        duration_ms: 1,
        mechanism: "test".to_owned(),
        enforced: BTreeMap::new(),
        inferred: None,
        blocked: None,
        annotations: Vec::new(),
        limits: Vec::new(),
        error: None,
        stdout: None,
        stderr: None,
        stdout_b64: None,
        stderr_b64: None,
        truncated: None,
    }
}

fn not_started(kind: ErrorKind) -> RunResult {
    let message = "it says why".to_owned();
    let error = Some(RunError { kind, message, file: None, line: None });
    RunResult { started: false, error, ..result(None, None) }
}

/// The sandbox of the run could not be set up for the reason `why`, and the act did not run.
fn unset_up(run: &mut RunReport, why: &str) {
    run.special = Some(SpecialExit::SetupFailed(why.to_owned()));
    (run.observation, run.ready) = (ProbeObservation::Missing, false);
}

/// The confined arm declined the policy with `message`, and did nothing.
fn declined_with(execution: &mut ArmSet, message: &str) {
    let run = first(execution);
    run.observation = ProbeObservation::Missing;
    run.exit = ProcessExit::Code(126);
    run.special = Some(SpecialExit::Refused(message.to_owned()));
    flip(confined(execution));
}

/// The report of an arm, to be spoilt.
fn arm(arm: &mut Option<ArmRecord>) -> &mut ArmReport {
    arm.as_mut().and_then(ArmRecord::done_mut).expect("no report to spoil")
}

fn confined(execution: &mut ArmSet) -> &mut ArmReport {
    execution.confined.done_mut().expect("no report to spoil")
}

/// The reports of the control and of the confined arm, to be spoilt.
fn both(execution: &mut ArmSet) -> [&mut ArmReport; 2] {
    let ArmSet { control, confined, .. } = execution;
    [arm(control), confined.done_mut().expect("no report to spoil")]
}

/// Makes every oracle of `report` unread.
fn unread(report: &mut ArmReport) {
    for reading in &mut report.oracles {
        (reading.holds, reading.unread) = (false, true);
    }
}

fn first(execution: &mut ArmSet) -> &mut RunReport {
    &mut confined(execution).runs[0]
}

/// Sets what the probe of the confined arm's first run saw.
fn saw(execution: &mut ArmSet, outcome: ActOutcome) {
    outcome_of(first(execution), outcome);
}

fn outcome_of(run: &mut RunReport, outcome: ActOutcome) {
    let ProbeObservation::Seen(record) = &mut run.observation else { panic!("no record") };
    record.outcome = outcome;
}

/// A first step of `report` failed, like this; nothing ran after it.
fn broke(report: &mut ArmReport, spoil: fn(&mut RunReport)) {
    let mut run = report.runs.remove(0);
    report.runs.clear();
    run.exit = ProcessExit::Code(1);
    spoil(&mut run);
    report.broken = Some(BrokenStep { number: 1, run });
}

/// An oracle of the confined arm sees the opposite.
fn flip(report: &mut ArmReport) {
    for reading in &mut report.oracles {
        reading.holds = !reading.holds;
    }
}
