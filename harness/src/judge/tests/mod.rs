//! Tests of the judge, on hand-made executions: the smallest case of each kind, and the
//! execution that passes it, to be spoilt.

mod channel;
mod properties;
mod question;
mod residue;
mod status;
mod supervised;
mod table;

use std::collections::BTreeMap;

use boxproof_cases::Case;
use boxproof_cases::case::{Act, Decision, Moment, Twin};
use boxproof_cases::protocol::{ErrorKind, PROTOCOL, RunError, RunResult};
use boxproof_probes::{Outcome, Record};

use crate::backend::Special;
use crate::execution::{
    Arm, ArmKind, BrokenStep, Execution, Exit, Observation, Reading, Report, RunReport, Stamp,
    Stream,
};
use crate::testing::case;

/// Makes an execution differ from a good one.
type Spoil = fn(&mut Execution);

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
fn good(case: &Case) -> Execution {
    let arm = |kind| Some(Arm::Done(Box::new(report(case, kind))));
    Execution {
        control: arm(ArmKind::Control),
        twin: matches!(case.twin, Some(Twin::Overlay(_))).then(|| arm(ArmKind::Twin)).flatten(),
        confined: arm(ArmKind::Confined),
        reply: None,
    }
}

fn report(case: &Case, kind: ArmKind) -> Report {
    let works = kind != ArmKind::Confined || case.expect.decision.may_work();
    let run = if works { succeeded(case) } else { stopped(case) };
    let readings = case.expect.oracle.iter().map(|oracle| Reading {
        oracle: oracle.to_string(),
        positive: oracle.is_positive(),
        holds: oracle.is_positive() || !works,
        saw: "what it saw".to_owned(),
        unread: false,
    });
    Report {
        nonce: "bx1-2".to_owned(),
        runs: vec![run; (case.repeat * case.parallel) as usize],
        broken: None,
        oracles: readings.collect(),
        tree: BTreeMap::from([("$WS/f".to_owned(), "0644 1 bytes".to_owned())]),
        laid: BTreeMap::new(),
        appeared: if works { vec!["$WS/f".to_owned()] } else { Vec::new() },
        leaks: Vec::new(),
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
        exit: Exit::Code(0),
        stdout: Stream::default(),
        stderr: Stream::default(),
        observation: seen(case, Outcome::Succeeded),
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
        Decision::Denied(_) => RunReport {
            exit: Exit::Code(1),
            stderr: text("sh: f: Read-only file system"),
            observation: seen(case, refusal("EROFS")),
            ..run
        },
        Decision::Refused | Decision::Withheld(_) => RunReport {
            exit: Exit::Code(126),
            observation: Observation::Missing,
            result: Some(not_started(ErrorKind::Unsupported)),
            ..run
        },
        // A tool announces itself before it is held.
        Decision::Contained(_) => RunReport { ready: !case.act().is_probe(), ..run },
        Decision::Allowed
        | Decision::AllowedOrRefused(_)
        | Decision::Answer(_)
        | Decision::Receipts(_) => run,
    }
}

fn seen(case: &Case, outcome: Outcome) -> Observation {
    match case.act() {
        Act::Probe { probe, .. } => {
            Observation::Seen(Record { probe: probe.clone(), outcome, detail: BTreeMap::new() })
        }
        _ => Observation::NotExpected,
    }
}

/// The record of a probe `write`.
fn recorded(outcome: Outcome) -> Observation {
    Observation::Seen(Record { probe: "write".to_owned(), outcome, detail: BTreeMap::new() })
}

fn refusal(errno: &str) -> Outcome {
    Outcome::Refused { errno: errno.to_owned(), call: "openat".to_owned() }
}

fn killed(signal: &str) -> Outcome {
    Outcome::Killed { signal: signal.to_owned() }
}

fn text(text: &str) -> Stream {
    Stream { text: text.to_owned(), bytes: text.len() as u64, ..Stream::default() }
}

fn stamp(moment: Moment, at_ms: f64) -> Stamp {
    Stamp { moment, at_ms }
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

/// The confined arm declined the policy with `message`, and did nothing.
fn declined_with(execution: &mut Execution, message: &str) {
    let run = first(execution);
    run.observation = Observation::Missing;
    run.exit = Exit::Code(126);
    run.special = Some(Special::Refused(message.to_owned()));
    flip(confined(execution));
}

/// The report of an arm, to be spoilt.
fn arm(arm: &mut Option<Arm>) -> &mut Report {
    match arm {
        Some(Arm::Done(report)) => report,
        other => panic!("no report to spoil: {other:?}"),
    }
}

fn confined(execution: &mut Execution) -> &mut Report {
    arm(&mut execution.confined)
}

/// Makes every oracle of `report` unread.
fn unread(report: &mut Report) {
    for reading in &mut report.oracles {
        (reading.holds, reading.unread) = (false, true);
    }
}

fn first(execution: &mut Execution) -> &mut RunReport {
    &mut confined(execution).runs[0]
}

/// Sets what the probe of the confined arm's first run saw.
fn saw(execution: &mut Execution, outcome: Outcome) {
    outcome_of(first(execution), outcome);
}

fn outcome_of(run: &mut RunReport, outcome: Outcome) {
    let Observation::Seen(record) = &mut run.observation else { panic!("no record") };
    record.outcome = outcome;
}

/// A first step of `report` failed, like this; nothing ran after it.
fn broke(report: &mut Report, spoil: fn(&mut RunReport)) {
    let mut run = report.runs.remove(0);
    report.runs.clear();
    run.exit = Exit::Code(1);
    spoil(&mut run);
    report.broken = Some(BrokenStep { number: 1, run });
}

/// An oracle of the confined arm sees the opposite.
fn flip(report: &mut Report) {
    for reading in &mut report.oracles {
        reading.holds = !reading.holds;
    }
}
