//! The gate: red results, each for its own reason, and results that are not red.

use boxproof_reports::gate::{
    AcceptedChange, GateDecision, GateInputs, GatePolicy, KnownPolicy, RedScope, decide, render,
};
use boxproof_reports::{CaseRow, Header, KnownFailure, Level, Outcome, Run, Verdict, merge};
use rstest::rstest;
use serde_json::json;

use crate::sample::{backend, bad, header, row, run};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn policy() -> GatePolicy {
    serde_json::from_value(json!({"baseline": {"record": "base.ndjson"}})).unwrap()
}

/// A day after the sample runs.
fn circumstances() -> GateInputs {
    GateInputs {
        now: 1_785_666_000,
        today: "2026-08-02".to_owned(),
        commit: Some(COMMIT.to_owned()),
        programs: [("box".to_owned(), backend("box").sha256)].into(),
    }
}

fn rows() -> Vec<CaseRow> {
    ["fs/a/one", "fs/a/two", "net/b/one"].map(|id| row(id, "box")).into()
}

fn run_of(rows: &[CaseRow]) -> Run {
    run(&header(&[backend("box")], rows), rows)
}

fn decided(policy: &GatePolicy, before: &Run, after: &Run, about: &GateInputs) -> GateDecision {
    let (before, after) = ([before.clone()], [after.clone()]);
    decide(policy, (&merge(&before).unwrap(), &merge(&after).unwrap()), about)
}

/// Returns the red reasons of `after`, beside the sample rows.
fn red(policy: &GatePolicy, after: &Run) -> Vec<String> {
    decided(policy, &run_of(&rows()), after, &circumstances()).red
}

fn with_header(change: impl FnOnce(&mut Header)) -> Run {
    let mut header = header(&[backend("box")], &rows());
    change(&mut header);
    run(&header, &rows())
}

#[test]
fn the_same_run_twice_is_green() {
    let decision = decided(&policy(), &run_of(&rows()), &run_of(&rows()), &circumstances());
    assert_eq!(decision, GateDecision { compared: 3, ..GateDecision::default() });
    assert_eq!(render(&decision), "gate: green, 3 cases compared\n");
}

#[rstest]
#[case(Verdict::UnderBlock, "newly open: box: fs/a/two (must): pass → under-block (why)")]
#[case(Verdict::OverBlock, "newly over-blocked: box: fs/a/two (must): pass → over-block (why)")]
#[case(Verdict::Contract, "promise newly broken: box: fs/a/two (must): pass → contract (why)")]
#[case(Verdict::Leak, "newly leaking: box: fs/a/two (must): pass → leak (why)")]
#[case(Verdict::Inconclusive, "coverage lost: box: fs/a/two (must): pass → inconclusive (why)")]
#[case(Verdict::Unsupported, "coverage lost: box: fs/a/two (must): pass → unsupported (why)")]
fn a_change_for_the_worse_is_red_and_the_only_reason(#[case] now: Verdict, #[case] line: &str) {
    let mut after = rows();
    after[1] = bad("fs/a/two", "box", now, "why");
    assert_eq!(red(&policy(), &run_of(&after)), [line]);
}

#[test]
fn a_case_that_is_gone_is_red_and_one_that_is_new_is_not() {
    let gone = red(&policy(), &run_of(&rows()[..2]));
    assert_eq!(gone, ["removed: box: net/b/one (must): pass → not asked"]);
    let mut more = rows();
    more.push(bad("fs/a/three", "box", Verdict::Leak, "why"));
    let decision = decided(&policy(), &run_of(&rows()), &run_of(&more), &circumstances());
    assert!(decision.is_green(), "{decision:?}");
    assert_eq!(decision.told, ["added: box: fs/a/three (must): not asked → leak (why)"]);
}

#[test]
fn a_scope_is_of_levels_and_areas() {
    let mut after = rows();
    after[1] = CaseRow { level: Level::Should, ..bad("fs/a/two", "box", Verdict::Leak, "why") };
    let scoped = |levels: &[Level], areas: Option<&[&str]>| {
        let areas = areas.map(|areas| areas.iter().map(|a| (*a).to_owned()).collect());
        let mut policy = policy();
        policy.conformance.newly_leaking = RedScope { levels: levels.into(), areas };
        red(&policy, &run_of(&after)).len()
    };
    assert_eq!(scoped(&Level::ALL, None), 1);
    assert_eq!(scoped(&[Level::Must], None), 0);
    assert_eq!(scoped(&[Level::Should], Some(&["fs"])), 1);
    assert_eq!(scoped(&[Level::Should], Some(&["net"])), 0);
}

#[rstest]
#[case::young(|_: &mut Header| {}, None)]
#[case::old(
    |h: &mut Header| h.started = "2026-07-23T10:00:00Z".to_owned(),
    Some("evidence: box: is of 2026-07-23T10:00:00Z, 10 days old; at most 3 may be")
)]
#[case::of_tomorrow(|h: &mut Header| h.started = "2026-09-01T10:00:00Z".to_owned(), Some("evidence: box: is of 2026-09-01T10:00:00Z, which is yet to come"))]
#[case::undated(|h: &mut Header| h.started = "soon".to_owned(), Some("evidence: box: `soon` is no time: its age is not known"))]
#[case::of_another_commit(
    |h: &mut Header| h.commit = Some("fedc".to_owned()),
    Some("evidence: box: is of commit fedc, not of 0123456789abcdef0123456789abcdef01234567")
)]
#[case::of_no_commit(
    |h: &mut Header| h.commit = None,
    Some("evidence: box: does not say of which commit it is; wanted 0123456789abcdef0123456789abcdef01234567")
)]
#[case::of_another_program(
    |h: &mut Header| h.backends[0].sha256 = "aa".to_owned(),
    Some("evidence: box: was made with a program of sha256 aa, not 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8")
)]
#[case::of_another_host(|h: &mut Header| { h.host.insert("userns".to_owned(), json!(false)); }, None)]
fn evidence_must_be_young_and_of_what_is_released(
    #[case] change: fn(&mut Header),
    #[case] reason: Option<&str>,
) {
    assert_eq!(red(&policy(), &with_header(change)), reason.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_baseline_must_be_what_the_policy_says() {
    let mut policy = policy();
    policy.baseline.max_age_days = Some(7);
    policy.baseline.commit = Some("abcd".to_owned());
    let old = with_header(|h| h.started = "2026-07-23T10:00:00Z".to_owned());
    let decision = decided(&policy, &old, &run_of(&rows()), &circumstances());
    let lines: Vec<&str> = decision.red.iter().map(|line| &line[..line.len().min(60)]).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(decision.red[0].ends_with("10 days old; at most 7 may be"), "{lines:?}");
    assert!(decision.red[1].ends_with("not of abcd"), "{lines:?}");
}

#[test]
fn a_host_fact_counts_where_a_judged_case_names_it() {
    let naming = |value: bool, rows: &[CaseRow]| {
        let mut header = header(&[backend("box")], rows);
        header.host.insert("userns".to_owned(), json!(value));
        run(&header, rows)
    };
    let mut named = rows();
    named[0].host = vec!["userns".to_owned()];
    let about = circumstances();
    let other = decided(&policy(), &naming(true, &rows()), &naming(false, &rows()), &about);
    assert!(other.is_green() && other.told[0].contains("host fact userns"), "{other:?}");
    let red = decided(&policy(), &naming(true, &named), &naming(false, &named), &about).red;
    assert_eq!(red, ["host: box: userns was true, is false, and judged cases need it"]);
}

#[test]
fn a_backend_that_was_not_judged_is_one_reason() {
    let both = [backend("box"), backend("other")];
    let all =
        [rows(), rows().into_iter().map(|r| CaseRow { backend: "other".into(), ..r }).collect()];
    let before = run(&header(&both, &rows()), &all.concat());
    let decision = decided(&policy(), &before, &run_of(&rows()), &circumstances());
    assert_eq!(decision.red, ["evidence: other is in the baseline and was not judged"]);
    let mut wants = policy();
    wants.evidence.backends = vec!["box".to_owned(), "third".to_owned()];
    assert_eq!(red(&wants, &run_of(&rows())), ["evidence: third was not judged"]);
    let mut about = circumstances();
    about.programs.insert("fourth".to_owned(), "aa".to_owned());
    let unjudged = decided(&policy(), &run_of(&rows()), &run_of(&rows()), &about).red;
    assert_eq!(unjudged, ["evidence: fourth was not judged, and its program is named"]);
}

#[test]
fn nothing_in_common_is_red() {
    let other = [row("exec/x/y", "box")];
    let found = red(&policy(), &run_of(&other));
    assert!(
        found.contains(&"no case is in both runs: nothing was compared".to_owned()),
        "{found:?}"
    );
}

fn accepted(expires: &str) -> AcceptedChange {
    AcceptedChange {
        case: "fs/a/*".to_owned(),
        change: "newly leaking".to_owned(),
        backend: Some("box".to_owned()),
        reason: "a new helper stays".to_owned(),
        link: "https://example.invalid/7".to_owned(),
        expires: expires.to_owned(),
    }
}

#[test]
fn an_accepted_change_is_told_until_it_expires() {
    let mut after = rows();
    after[1] = bad("fs/a/two", "box", Verdict::Leak, "why");
    let with = |accepted: AcceptedChange| GatePolicy { accept: vec![accepted], ..policy() };
    let line = "newly leaking: box: fs/a/two (must): pass → leak (why)";
    let before = run_of(&rows());
    let last = decided(&with(accepted("2026-08-02")), &before, &run_of(&after), &circumstances());
    assert!(last.is_green(), "{last:?}");
    assert_eq!(
        last.told,
        [format!(
            "accepted until 2026-08-02: {line}; a new helper stays (https://example.invalid/7)"
        )]
    );
    assert_eq!(
        red(&with(accepted("2026-08-01")), &run_of(&after)),
        [format!("{line}; it was accepted until 2026-08-01")]
    );
    for other in [
        AcceptedChange { backend: Some("other".to_owned()), ..accepted("2026-09-01") },
        AcceptedChange { change: "newly open".to_owned(), ..accepted("2026-09-01") },
        AcceptedChange { case: "fs/a".to_owned(), ..accepted("2026-09-01") },
    ] {
        let decision = decided(&with(other), &before, &run_of(&after), &circumstances());
        assert_eq!(decision.red, [line]);
        assert!(decision.told[0].ends_with("matches no change: remove it"), "{decision:?}");
    }
}

#[test]
fn known_failures_that_pass_are_red_and_failures_no_list_names_where_asked() {
    let known = Some(KnownFailure { reason: "r".to_owned(), link: None });
    let mut same = rows();
    same[0] = CaseRow { outcome: Outcome::Xpass, known, ..same[0].clone() };
    same[1] = bad("fs/a/two", "box", Verdict::Leak, "why");
    let decision = decided(&policy(), &run_of(&same), &run_of(&same), &circumstances());
    assert_eq!(
        decision.red,
        ["known failure passes: box: fs/a/one (must): a known failure that passes"]
    );
    let strict = GatePolicy {
        known_failures: KnownPolicy { passing_is_red: false, unlisted_is_red: true },
        ..policy()
    };
    let decision = decided(&strict, &run_of(&same), &run_of(&same), &circumstances());
    assert_eq!(decision.red, ["failure that no list names: box: fs/a/two (must): leak (why)"]);
}

#[rstest]
#[case(AcceptedChange { change: "worse".to_owned(), ..accepted("2026-08-02") }, "none of: newly open")]
#[case(AcceptedChange { change: "fixed".to_owned(), ..accepted("2026-08-02") }, "none of: newly open")]
#[case(AcceptedChange { reason: " ".to_owned(), ..accepted("2026-08-02") }, "reason is empty")]
#[case(AcceptedChange { link: "see wiki".to_owned(), ..accepted("2026-08-02") }, "no https://")]
#[case(accepted("2026-8-2"), "YYYY-MM-DD")]
#[case(accepted("soon"), "YYYY-MM-DD")]
fn an_acceptance_that_means_nothing_is_refused(#[case] one: AcceptedChange, #[case] why: &str) {
    let policy = GatePolicy { accept: vec![accepted("2026-08-02"), one], ..policy() };
    let error = policy.check().unwrap_err();
    assert!(error.starts_with("accept number 2: ") && error.contains(why), "{error}");
}

#[test]
fn a_line_is_a_line_and_no_command() {
    let decision =
        GateDecision { red: vec!["::error::a\nb\u{1b}[2J".to_owned()], ..GateDecision::default() };
    assert_eq!(
        render(&decision),
        "red: ::error::a b\\u{1b}[2J\ngate: red, 1 reasons, 0 cases compared\n"
    );
}
