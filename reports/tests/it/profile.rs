//! The standing of a backend on a profile, equal in every page, badge and gate.

use boxproof_reports::gate::{GateInputs, GatePolicy, decide};
use boxproof_reports::profile::{Conformance, table};
use boxproof_reports::terminal::{self, TerminalOptions};
use boxproof_reports::{
    CaseRow, KnownFailure, Outcome, Run, SetInfo, Verdict, badge, html, markdown, merge,
};
use rstest::rstest;
use serde_json::json;

use crate::sample::{backend, bad, header, row, run};

/// Makes three rows of the profile `core`, the last of them `third`, of `required` cases.
fn held(third: CaseRow, required: u64) -> [Run; 1] {
    let core = |row: CaseRow| CaseRow { profiles: vec!["core".to_owned()], ..row };
    let rows = [row("fs/a/one", "box"), row("fs/a/two", "box"), third].map(core);
    let mut header = header(&[backend("box")], &rows);
    let profiles = [("core".to_owned(), required), ("network".to_owned(), 9)].into();
    header.set = Some(SetInfo { version: "0.1".to_owned(), profiles });
    [run(&header, &rows)]
}

fn third(verdict: Verdict) -> CaseRow {
    match verdict {
        Verdict::Pass => row("fs/a/three", "box"),
        verdict => bad("fs/a/three", "box", verdict, "why"),
    }
}

fn known() -> CaseRow {
    let known = Some(KnownFailure { reason: "r".to_owned(), link: None });
    CaseRow { outcome: Outcome::Xfail, known, ..third(Verdict::UnderBlock) }
}

#[rstest]
#[case(third(Verdict::Pass), 3, Conformance::Conformant, "conformant: 3 of 3 pass", "brightgreen")]
#[case(
    third(Verdict::NotApplicable),
    3,
    Conformance::Conformant,
    "conformant: 2 of 3 pass, 1 not applicable",
    "brightgreen"
)]
#[case(
    known(),
    3,
    Conformance::WithExceptions,
    "conformant with listed exceptions: 2 of 3 pass; 1 known to fail: fs/a/three",
    "yellow"
)]
#[case(
    third(Verdict::Pass),
    5,
    Conformance::Unmeasured,
    "not measured whole: 3 of 5 pass, 2 not asked",
    "orange"
)]
#[case(
    third(Verdict::Leak),
    3,
    Conformance::Not,
    "not conformant: 2 of 3 pass; 1 amiss: fs/a/three",
    "red"
)]
#[case(
    third(Verdict::Unsupported),
    3,
    Conformance::Not,
    "not conformant: 2 of 3 pass; 1 amiss: fs/a/three",
    "red"
)]
#[case(
    third(Verdict::Inconclusive),
    3,
    Conformance::Not,
    "not conformant: 2 of 3 pass; 1 amiss: fs/a/three",
    "red"
)]
fn each_standing_is_reached_and_told_alike(
    #[case] last: CaseRow,
    #[case] required: u64,
    #[case] standing: Conformance,
    #[case] words: &str,
    #[case] color: &str,
) {
    let runs = held(last, required);
    let matrix = merge(&runs).unwrap();
    let found = table(&matrix);
    assert_eq!(found.len(), 1, "of `network` no case was asked: {found:?}");
    assert_eq!((found[0].standing, found[0].to_string().as_str()), (standing, words));
    let line = format!("core: box: {words}");
    let options = TerminalOptions { width: 160, ..TerminalOptions::default() };
    assert!(terminal::render(&matrix, options).contains(&line));
    assert!(html::render(&matrix).contains(&format!("<li>{line}</li>")));
    assert!(markdown::render(&matrix, 65_535).contains(&format!("- {line}\n")));
    let badges = badge::of_profiles(&matrix);
    assert_eq!(badges.len(), 1);
    assert_eq!(badges[0].0, "box-core.json");
    assert!(badges[0].1.contains(&format!("\"{color}\"")), "{badges:?}");
}

#[test]
fn a_gate_asks_for_a_profile() {
    let reasons = |last: CaseRow, profiles: serde_json::Value| {
        let runs = held(last, 3);
        let matrix = merge(&runs).unwrap();
        let policy = json!({"baseline": {"record": "b"}, "profiles": profiles});
        let policy: GatePolicy = serde_json::from_value(policy).unwrap();
        let about = GateInputs { now: 1_785_666_000, ..GateInputs::default() };
        decide(&policy, (&matrix, &matrix), &about).red
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(reasons(third(Verdict::Pass), json!({"core": "conformant"})), none);
    assert_eq!(reasons(known(), json!({"core": "with-exceptions"})), none);
    assert_eq!(
        reasons(known(), json!({"core": "conformant"})),
        ["profile core: box: conformant with listed exceptions: 2 of 3 pass; 1 known to fail: \
          fs/a/three"]
    );
    assert_eq!(
        reasons(third(Verdict::Pass), json!({"network": "conformant"})),
        ["profile network: box: no case of it was asked"]
    );
}
