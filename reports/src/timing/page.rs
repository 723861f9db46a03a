//! A timing record as text ([`render`]): a line a lane, the conclusion last.

use super::{LaneResult, TimingLane, TimingMeasurement, TimingRecord, TimingVerdict};
use crate::text::printable;

/// The most system calls that a line names.
const CALLS: usize = 6;

/// Renders `record` for a terminal.
#[must_use]
pub fn render(record: &TimingRecord) -> String {
    let header = &record.header;
    let (base, head) = (&header.base, &header.head);
    let mut out = format!("timing of {}: {} → {}\n", header.backend, base.program, head.program);
    for measurement in &record.measurements {
        out += &measurement_text(measurement);
    }
    out += &summary(record);
    out.lines().map(|line| printable(line) + "\n").collect()
}

fn measurement_text(measurement: &TimingMeasurement) -> String {
    let TimingMeasurement { id, per, runs, conditions, .. } = measurement;
    let blocks = conditions.len();
    let mut out = format!("\n{id} (per {per}; {blocks} blocks, {runs} runs a position)\n");
    if let Some(fault) = &measurement.fault {
        out += &format!("  not measured: {}\n", fault.reason.replace('\n', " "));
    }
    for lane in &measurement.lanes {
        out += &format!("  {}\n", lane_line(lane));
    }
    let wall = measurement.lanes.iter().find(|lane| lane.lane == TimingLane::Wall);
    for anchor in &measurement.anchors {
        let ratio = wall.filter(|_| anchor.wall_ns > 0.0).map(|wall| wall.head / anchor.wall_ns);
        let ratio = ratio.map_or(String::new(), |ratio| format!(", head is {ratio:.2} of it"));
        let (name, wall) = (&anchor.name, time_text(anchor.wall_ns));
        out += &format!("  beside {name}: wall {wall}, cpu {}{ratio}\n", time_text(anchor.cpu_ns));
    }
    out
}

/// Returns one lane on one line.
#[must_use]
pub fn lane_line(lane: &LaneResult) -> String {
    let name = lane.lane.keyword();
    let verdict = lane.verdict.name();
    let reason = lane.reason.as_ref().map_or(String::new(), |reason| format!("; {reason}"));
    if lane.verdict == TimingVerdict::Unavailable {
        return format!("{name:<7} {verdict}{reason}");
    }
    let values =
        format!("{} → {}", value_text(lane.base, &lane.unit), value_text(lane.head, &lane.unit));
    let interval = lane.ratio.map_or(String::new(), |ratio| {
        format!(" {:.3} [{:.3}, {:.3}]", ratio.estimate, ratio.low, ratio.high)
    });
    let control = lane.control.map_or(String::new(), |control| {
        format!(", A/A [{:.3}, {:.3}]", control.low, control.high)
    });
    let calls = calls_text(lane);
    format!("{name:<7} {verdict:<12} {values}{interval}{control}{calls}{reason}")
}

fn calls_text(lane: &LaneResult) -> String {
    let range = |[low, high]: [u64; 2]| match low == high {
        true => low.to_string(),
        false => format!("{low} to {high}"),
    };
    let mut words: Vec<String> = lane
        .calls
        .iter()
        .take(CALLS)
        .map(|change| format!("{} {} → {}", change.call, range(change.base), range(change.head)))
        .collect();
    if lane.calls.len() > CALLS {
        words.push(format!("{} more", lane.calls.len() - CALLS));
    }
    if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) }
}

/// Returns `value` with its unit, for people.
#[must_use]
pub fn value_text(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time_text(value),
        _ => format!("{value:.0} {unit}"),
    }
}

/// Returns nanoseconds as a time for people.
#[must_use]
pub fn time_text(nanoseconds: f64) -> String {
    match nanoseconds.abs() {
        value if value >= 1e9 => format!("{:.3} s", nanoseconds / 1e9),
        value if value >= 1e6 => format!("{:.3} ms", nanoseconds / 1e6),
        value if value >= 1e3 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{nanoseconds:.0} ns"),
    }
}

/// Returns the conclusion on one line.
fn summary(record: &TimingRecord) -> String {
    let counted = TimingVerdict::ALL.into_iter().filter_map(|verdict| {
        let count = record.count(verdict);
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    });
    let failed = record.measurements.iter().filter(|m| m.fault.is_some()).count();
    let failed = (failed > 0).then(|| format!("{failed} not measured"));
    let counts: Vec<String> = counted.chain(failed).collect();
    let lanes = record.lanes().count();
    format!("\n{lanes} lanes: {}\n", counts.join(", "))
}
