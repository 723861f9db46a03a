//! Timing records: whole or refused, and what a gate makes of each.

use boxproof_reports::gate::{GateInputs, TimingPolicy, decide_timing};
use boxproof_reports::timing::{TimingRecord, TimingVerdict, read, render, write};
use boxproof_reports::{html, merge};
use rstest::rstest;
use serde_json::{Value, json};

use crate::sample::{backend, header, row, run};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn program(sha256: &str) -> Value {
    json!({"program": "/bin/box", "version": "1", "sha256": sha256})
}

/// A record of one measurement, whose lane of processor time has `verdict`.
fn record(verdict: TimingVerdict) -> TimingRecord {
    let header = json!({
        "format": 1, "harness": "0.1.0", "started": "2026-08-01T10:00:00Z", "backend": "box",
        "base": program("aa"), "head": program("bb"), "commit": COMMIT, "host": {},
        "user": {"kind": "root", "uid": 0},
        "plan": {"quick": true, "screen_blocks": 8, "confirm_blocks": 16, "confidence": 0.99,
                 "lanes": ["counts", "faults", "cpu", "wall"], "family": 1}
    });
    let bounds = json!({"estimate": 1.1, "low": 1.08, "high": 1.12});
    let measurement = json!({
        "id": "startup/trivial", "per": "a start", "runs": 3, "conditions": [], "anchors": [],
        "lanes": [{"lane": "cpu", "unit": "ns", "verdict": verdict, "stage": 2, "base": 1e6,
                   "head": 1.1e6, "ratio": bounds, "control": bounds, "blocks": [], "calls": []}]
    });
    TimingRecord {
        header: serde_json::from_value(header).unwrap(),
        measurements: vec![serde_json::from_value(measurement).unwrap()],
    }
}

fn inputs() -> GateInputs {
    GateInputs {
        now: 1_785_666_000,
        today: "2026-08-02".to_owned(),
        commit: Some(COMMIT.to_owned()),
        programs: [("box".to_owned(), "bb".to_owned())].into(),
    }
}

fn policy(text: &Value) -> TimingPolicy {
    serde_json::from_value(text.clone()).unwrap()
}

fn red(rules: &Value, record: TimingRecord) -> Vec<String> {
    decide_timing(&policy(rules), &[record], &inputs()).red
}

#[test]
fn a_record_reads_back_and_a_changed_one_is_refused() {
    let record = record(TimingVerdict::Regression);
    let bytes = write(&record).unwrap();
    assert_eq!(read(bytes.as_slice()).unwrap(), record);
    let text = String::from_utf8(bytes).unwrap();
    let fault = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert!(fault(&text.replace("1100000.0", "1000000.0")).contains("checksum"));
    assert!(fault(&text.replacen("\"format\":1", "\"format\":2", 1)).contains("has format 2"));
    assert!(fault(&text.replacen("\"runs\":3", "\"runs\":3,\"x\":1", 1)).starts_with("line 2: "));
    let first: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert!(fault(&first).contains("cut short") && fault("").contains("no header"));
    assert!(render(&record).contains("cpu     regression   1.000 ms → 1.100 ms 1.100"));
}

#[rstest]
#[case(TimingVerdict::Regression, 1)]
#[case(TimingVerdict::Equivalent, 0)]
#[case(TimingVerdict::NotWorse, 0)]
#[case(TimingVerdict::Improvement, 0)]
#[case(TimingVerdict::Changed, 0)]
fn a_regression_alone_is_red(#[case] verdict: TimingVerdict, #[case] count: usize) {
    assert_eq!(red(&json!({}), record(verdict)).len(), count);
}

#[test]
fn what_is_not_decided_is_told_unless_the_policy_wants_it() {
    let decision =
        decide_timing(&policy(&json!({})), &[record(TimingVerdict::Inconclusive)], &inputs());
    assert_eq!(decision.red, ["timing: box: no gated lane was decided"]);
    assert!(decision.told[0].starts_with("timing: box: startup/trivial: cpu     inconclusive"));
    let strict = json!({"decided": ["cpu"], "required": ["startup/trivial", "x/y"]});
    let lines = red(&strict, record(TimingVerdict::Inconclusive));
    assert_eq!(lines.len(), 4, "{lines:?}");
    let other = red(&json!({"lanes": ["counts"]}), record(TimingVerdict::Regression));
    assert_eq!(other, ["timing: box: no gated lane was decided"]);
}

#[test]
fn an_accepted_regression_is_told_until_its_day() {
    let accept = |expires: &str| {
        json!({"accept": [{"measurement": "startup/trivial", "lane": "cpu", "reason": "r",
                           "link": "https://example.invalid", "expires": expires}]})
    };
    assert!(red(&accept("2026-08-02"), record(TimingVerdict::Regression)).is_empty());
    let late = red(&accept("2026-08-01"), record(TimingVerdict::Regression));
    assert!(late[0].ends_with("it was accepted until 2026-08-01"), "{late:?}");
}

#[rstest]
#[case(|r: &mut TimingRecord| r.header.started = "2026-07-01T10:00:00Z".to_owned(), "days old")]
#[case(|r: &mut TimingRecord| r.header.commit = Some("abc".to_owned()), "is of commit abc")]
#[case(|r: &mut TimingRecord| r.header.commit = None, "does not say of which commit")]
#[case(|r: &mut TimingRecord| r.header.head.sha256 = "cc".to_owned(), "new program has sha256 cc")]
#[case(|r: &mut TimingRecord| r.header.base.sha256 = "bb".to_owned(), "both programs are one")]
#[case(|r: &mut TimingRecord| { r.header.plan.lanes.pop(); }, "lane wall is gated and was not")]
fn evidence_of_something_else_is_red(#[case] change: fn(&mut TimingRecord), #[case] words: &str) {
    let mut record = record(TimingVerdict::Equivalent);
    change(&mut record);
    let lines = red(&json!({}), record);
    assert!(lines.len() == 1 && lines[0].contains(words), "{lines:?}");
}

#[test]
fn no_record_is_red() {
    let none = decide_timing(&policy(&json!({})), &[], &inputs());
    assert!(none.red[0].starts_with("timing: no record"));
}

#[test]
fn a_lane_that_cannot_be_measured_has_no_figures_in_the_page() {
    let mut record = record(TimingVerdict::Unavailable);
    let lane = &mut record.measurements[0].lanes[0];
    (lane.base, lane.head, lane.ratio, lane.control) = (0.0, 0.0, None, None);
    let rows = [row("fs/a", "box")];
    let runs = [run(&header(&[backend("box")], &rows), &rows)];
    let page = html::render_with_timing(&merge(&runs).unwrap(), &[record]);
    let line = page.lines().find(|line| line.contains("startup/trivial")).unwrap();
    assert!(line.contains("unavailable") && !line.contains("0 ns"), "{line}");
}
