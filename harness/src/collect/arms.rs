//! Rows of the record for the arms of a case.

use boxproof_probes::ProbeRecord;
use boxproof_reports::{ArmName, ArmRow, ExitRow, OracleRow, StreamText, Verdict};

use crate::channel_observation::ChannelObservation;
use crate::execution::{
    ArmReport, ArmSet, CapturedStream, CaseExecution, ProbeObservation, ProcessExit, QueryReply,
    RunReport,
};

/// Returns a row for every arm and for the answer. Command lines are left to the arms of a backend that
/// did not pass, as the others would double the record.
pub(super) fn arm_rows(execution: &CaseExecution, verdict: Verdict) -> Vec<ArmRow> {
    let mut rows: Vec<ArmRow> = match execution {
        CaseExecution::Arms(arms) => rows_of(arms, arm_row),
        CaseExecution::Channel(arms) => rows_of(arms, channel_row),
        CaseExecution::Answer(reply) => answer_row(reply).into_iter().collect(),
    };
    for row in &mut rows {
        if verdict == Verdict::Pass || row.arm == ArmName::Control {
            row.command.clear();
        }
    }
    rows
}

/// Returns a `row` for every arm that was executed.
fn rows_of<T>(arms: &ArmSet<T>, row: impl Fn(ArmName, &T) -> ArmRow) -> Vec<ArmRow> {
    let arms = [
        (ArmName::Control, arms.control.as_ref()),
        (ArmName::Twin, arms.twin.as_ref()),
        (ArmName::Confined, Some(&arms.confined)),
    ];
    arms.into_iter().filter_map(|(name, arm)| Some(row(name, arm?.done()?))).collect()
}

/// The start of a text that may hold a backend's own words, in as many bytes as a stream may have.
pub(super) fn bounded(text: &str) -> String {
    StreamText::from_bytes(text.as_bytes()).text
}

/// An answer, in the place of the arm that is judged: JSON on stdout.
fn answer_row(reply: &QueryReply) -> Option<ArmRow> {
    let QueryReply::Answered(answered) = reply else { return None };
    let told = serde_json::to_string(&answered.told).ok()?;
    Some(ArmRow {
        arm: ArmName::Confined,
        command: String::new(),
        exit: answered.exit.map(ExitRow::Code),
        stdout: StreamText::from_bytes(told.as_bytes()),
        stderr: StreamText::from_bytes(answered.stderr.as_bytes()),
        observation: None,
        oracles: Vec::new(),
        duration_ms: answered.duration_ms,
    })
}

/// Returns a word for the first answer to each step: its status, or the reason why there is none.
fn statuses(seen: &ChannelObservation) -> serde_json::Value {
    let word =
        |answer: &crate::channel_observation::ChannelAnswer| match (answer.status, answer.exit) {
            (Some(status), _) => status.to_string(),
            (None, Some(exit)) => format!("exit {exit}"),
            (None, None) => answer.error.clone().unwrap_or_default(),
        };
    let first = |answers: &Vec<_>| answers.first().map(word).unwrap_or_default();
    let each = seen.answers.iter().map(|(step, answers)| (step.to_string(), first(answers).into()));
    serde_json::Value::Object(each.collect())
}

/// Returns the row of a channel: its export as stdout, the stderr of its parts as stderr.
fn channel_row(arm: ArmName, seen: &ChannelObservation) -> ArmRow {
    ArmRow {
        arm,
        command: String::new(),
        exit: seen.fault.is_none().then_some(ExitRow::Code(0)),
        stdout: StreamText::from_bytes(seen.lines.join("\n").as_bytes()),
        stderr: StreamText::from_bytes(seen.logs.as_bytes()),
        observation: Some(statuses(seen)),
        oracles: Vec::new(),
        duration_ms: seen.duration_ms,
    }
}

fn arm_row(arm: ArmName, report: &ArmReport) -> ArmRow {
    let run = telling(report);
    ArmRow {
        arm,
        command: run.map(|run| run.command.clone()).unwrap_or_default(),
        exit: run.map(|run| exit_row(&run.exit)),
        stdout: run.map(|run| stream_text(&run.stdout)).unwrap_or_default(),
        stderr: run.map(|run| stream_text(&run.stderr)).unwrap_or_default(),
        observation: run.and_then(observation),
        oracles: report
            .oracles
            .iter()
            .map(|reading| OracleRow {
                oracle: reading.oracle.clone(),
                holds: reading.holds,
                saw: bounded(&reading.saw),
                unread: reading.unread,
            })
            .collect(),
        duration_ms: report.duration_ms,
    }
}

/// Returns the first run that did not end like the first one, if there is one; else the first.
pub(super) fn telling(report: &ArmReport) -> Option<&RunReport> {
    let first = report.runs.first()?;
    report.runs.iter().find(|run| run.exit != first.exit).or(Some(first))
}

fn exit_row(exit: &ProcessExit) -> ExitRow {
    match exit {
        ProcessExit::Code(code) => ExitRow::Code(*code),
        ProcessExit::Signal(number) => ExitRow::Signal(*number),
        ProcessExit::TimedOut => ExitRow::Timeout,
        ProcessExit::Refused => ExitRow::Refused,
    }
}

fn stream_text(stream: &CapturedStream) -> StreamText {
    let text = StreamText::from_bytes(stream.text.as_bytes());
    StreamText { truncated: text.truncated || stream.bytes > stream.text.len() as u64, ..text }
}

fn observation(run: &RunReport) -> Option<serde_json::Value> {
    match &run.observation {
        ProbeObservation::Seen(record) => short(record),
        ProbeObservation::Untrusted(why) => Some(serde_json::json!({ "untrusted": why })),
        ProbeObservation::NotExpected | ProbeObservation::Missing => None,
    }
}

/// The record without long details: a report is read by people.
pub(super) fn short(record: &ProbeRecord) -> Option<serde_json::Value> {
    let mut value = serde_json::to_value(record).ok()?;
    if let Some(detail) = value.get_mut("detail").and_then(|detail| detail.as_object_mut()) {
        detail.retain(|_, value| value.to_string().len() <= 200);
    }
    Some(value)
}
