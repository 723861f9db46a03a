//! Measurements against a table made by hand: agreement, explained differences, and the form of the
//! built-in table.

use std::collections::BTreeSet;
use std::path::Path;

use boxproof_cases::Suite;
use boxproof_reports::compare::{
    AgreementStatus, ByHand, Comparison, StatusCounts, compare, page, render,
};
use boxproof_reports::{CaseRow, Run, RunUser, Verdict, merge};
use rstest::rstest;

use crate::sample::{self, ORDINARY, ROOT, backend, bad, row};

const TABLE: &str = "about: A table.
columns:
  jail: {version: 0.1.0, users: [root, ordinary]}
  cell-2: {backend: cell, version: '2', users: [root]}
  cell-3: {backend: cell, version: '3', users: [root, ordinary]}
words:
  ok: {meets: true, verdicts: [pass]}
  leak: {meets: false, verdicts: [under-block]}
probes:
  a01:
    asks: May it write?
    cases: [fs/write]
    seen: [{word: ok, by: [jail, cell-3]}, {word: leak, by: [cell-2]}]
  b01:
    asks: Is it kept?
    cases: [fs/kept, fs/kept-too]
    words: {empty: {meets: true, verdicts: [contract]}}
    seen:
      - {word: leak, user: root, note: as told, by: [jail]}
      - {word: empty, user: ordinary, by: [jail]}
      - {word: leak, unstated: true, by: [cell-3]}
differences:
  - probes: [b01]
    columns: [jail]
    user: root
    measured: pass
    because: policy
    reason: Told otherwise.
";

fn table() -> ByHand {
    ByHand::read(Path::new("table.yaml"), TABLE).unwrap()
}

fn run(user: RunUser, rows: &[CaseRow]) -> Run {
    let mut names: Vec<&str> = rows.iter().map(|row| row.backend.as_str()).collect();
    names.dedup();
    let backends: Vec<_> = names.into_iter().map(backend).collect();
    let mut header = sample::header(&backends, rows);
    header.user = user;
    sample::run(&header, rows)
}

fn compared(runs: &[Run]) -> Comparison {
    compare(&table(), &merge(runs).unwrap())
}

/// Returns the status of `b01` when `fs/kept` ends in `verdict`, and the rest passes.
fn status(name: &str, user: RunUser, verdict: Verdict) -> AgreementStatus {
    let kept = match verdict {
        Verdict::Pass => row("fs/kept", name),
        verdict => bad("fs/kept", name, verdict, "oracle"),
    };
    let runs = [run(user, &[kept, row("fs/kept-too", name), row("fs/write", name)])];
    let comparison = compared(&runs);
    comparison.columns[0].lines[1].status.clone()
}

fn explained() -> AgreementStatus {
    AgreementStatus::Explained("policy: Told otherwise.".to_owned())
}

#[rstest]
// The table says leak as root and empty otherwise.
#[case("jail", ROOT, Verdict::Pass, explained())]
#[case("jail", ROOT, Verdict::OverBlock, AgreementStatus::Differs)]
#[case("jail", ORDINARY, Verdict::Contract, AgreementStatus::Agree)]
#[case("jail", ORDINARY, Verdict::Pass, AgreementStatus::Differs)]
#[case("jail", ORDINARY, Verdict::UnderBlock, AgreementStatus::Differs)]
// A verdict that was not learnt, or a case that was not asked, is neither agreement nor a
// difference.
#[case("jail", ORDINARY, Verdict::Inconclusive, AgreementStatus::Unlearnt)]
#[case("jail", ORDINARY, Verdict::Error, AgreementStatus::Unlearnt)]
// If a rule cannot be stated, the leak without it and not being asked are both right.
#[case("cell", ROOT, Verdict::UnderBlock, AgreementStatus::Agree)]
#[case("cell", ROOT, Verdict::Contract, AgreementStatus::Differs)]
fn a_measurement_agrees_is_explained_or_differs(
    #[case] name: &str,
    #[case] user: RunUser,
    #[case] verdict: Verdict,
    #[case] expected: AgreementStatus,
) {
    assert_eq!(status(name, user, verdict), expected);
}

#[test]
fn an_explanation_may_ask_for_the_reason_code() {
    let told = TABLE.replace("measured: pass", "measured: over-block\n    code: CODE");
    let with = |code: &str| {
        let table = ByHand::read(Path::new("table.yaml"), &told.replace("CODE", code)).unwrap();
        let rows = [bad("fs/kept", "jail", Verdict::OverBlock, "twin"), row("fs/kept-too", "jail")];
        let runs = [run(ROOT, &rows)];
        compare(&table, &merge(&runs).unwrap()).columns[0].lines[1].status.clone()
    };
    assert_eq!(with("twin"), explained());
    assert_eq!(with("refused"), AgreementStatus::Differs);
}

#[test]
fn an_explanation_without_a_difference_is_stale() {
    let stale = status("jail", ROOT, Verdict::UnderBlock);
    assert_eq!(stale, AgreementStatus::Stale("policy: Told otherwise.".to_owned()));
}

fn b01_of(rows: &[CaseRow]) -> (String, AgreementStatus) {
    let comparison = compared(&[run(ORDINARY, rows)]);
    let line = comparison.columns[0].lines.iter().find(|line| line.probe == "b01").unwrap();
    (line.measured.clone(), line.status.clone())
}

#[test]
fn several_cases_come_to_the_gravest_of_them() {
    let two = |first, second| {
        let rows = [bad("fs/kept", "jail", first, "x"), bad("fs/kept-too", "jail", second, "y")];
        b01_of(&rows)
    };
    let (words, status) = two(Verdict::Unsupported, Verdict::Contract);
    assert_eq!((words.as_str(), status), ("contract at fs/kept-too (y)", AgreementStatus::Agree));
    let (words, status) = two(Verdict::Inconclusive, Verdict::Contract);
    assert_eq!((words.as_str(), status), ("contract at fs/kept-too (y)", AgreementStatus::Agree));
    let (words, status) = two(Verdict::Contract, Verdict::UnderBlock);
    assert_eq!(
        (words.as_str(), status),
        ("under-block at fs/kept-too (y)", AgreementStatus::Differs)
    );
    let (words, status) = two(Verdict::NotApplicable, Verdict::NotApplicable);
    assert_eq!((words.as_str(), status), ("not-applicable (x)", AgreementStatus::NotAsked));
}

#[test]
fn unsupported_agrees_only_where_the_rule_cannot_be_stated() {
    let unsupported = |name: &str| {
        let rows = ["fs/kept", "fs/kept-too"].map(|id| bad(id, name, Verdict::Unsupported, "x"));
        let comparison = compared(&[run(ORDINARY, &rows)]);
        comparison.columns[0].lines[1].status.clone()
    };
    assert_eq!(unsupported("cell"), AgreementStatus::Agree);
    assert_eq!(unsupported("jail"), AgreementStatus::Differs);
}

#[test]
fn a_case_that_is_missing_leaves_nothing_to_compare() {
    let (words, status) = b01_of(&[row("fs/kept", "jail"), row("fs/write", "jail")]);
    assert_eq!((words.as_str(), status), ("no row for fs/kept-too", AgreementStatus::NotAsked));
}

#[test]
fn a_column_is_chosen_by_version_else_the_last_and_never_by_guess() {
    let write = |user: RunUser, name: &str, version: &str| {
        let rows = [row("fs/write", name)];
        let mut header = sample::header(&[backend(name)], &rows);
        header.backends[0].version = version.to_owned();
        header.user = user;
        compared(&[sample::run(&header, &rows)])
    };
    let by_hand = |comparison: &Comparison| comparison.columns[0].by_hand.clone();
    assert_eq!(by_hand(&write(ROOT, "cell", "2")), "cell-2 2");
    assert_eq!(by_hand(&write(ROOT, "cell", "4")), "cell-3 3");
    let unknown = write(ROOT, "other", "1");
    assert_eq!(
        (unknown.columns.len(), unknown.apart),
        (0, vec!["other 1: not run by hand".into()])
    );
    let user = write(ORDINARY, "cell", "2");
    assert_eq!(user.apart, ["cell 2: not run by hand as ordinary"]);
}

#[rstest]
#[case(StatusCounts { agree: 2, explained: 1, not_asked: 3, ..StatusCounts::default() }, 0)]
#[case(StatusCounts { agree: 2, differ: 1, unlearnt: 1, ..StatusCounts::default() }, 1)]
#[case(StatusCounts { agree: 2, stale: 1, ..StatusCounts::default() }, 1)]
#[case(StatusCounts { agree: 2, unlearnt: 1, ..StatusCounts::default() }, 3)]
#[case(StatusCounts { not_asked: 3, ..StatusCounts::default() }, 3)]
#[case(StatusCounts::default(), 3)]
fn only_agreement_and_explanations_are_good(#[case] counts: StatusCounts, #[case] exit: i32) {
    assert_eq!(counts.exit(), exit);
}

#[test]
fn every_status_is_printed_and_counted() {
    let root = [row("fs/kept", "jail"), row("fs/kept-too", "jail"), row("fs/write", "jail")];
    let leaks = bad("fs/write", "jail", Verdict::UnderBlock, "oracle");
    let comparison = compared(&[run(ROOT, &root), run(ORDINARY, &[leaks])]);
    let text = render(&comparison, 60);
    for wanted in [
        "jail 0.1.0; root (uid 0) on",
        "  a01  agree       ok / pass: May it write?\n",
        "  b01  explained   leak! (as told) / pass: Is it kept?\n                 policy: Told otherwise.\n",
        "  a01  DIFFERS     ok / under-block (oracle): May it write?\n",
        "  b01  not asked   empty / no row for fs/kept: Is it kept?\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(
        text.ends_with("\n3 compared: 1 agree, 1 explained, 1 differ, 1 not asked\n"),
        "{text}"
    );
}

#[test]
fn a_page_keeps_foreign_text_in_its_cell() {
    let odd = bad("fs/write", "jail", Verdict::UnderBlock, "a|b <i>");
    let page = page(&table(), &compared(&[run(ORDINARY, &[odd])]));
    let wanted = "| a01 | May it write? | ok | under-block (a\\|b &lt;i&gt;) | DIFFERS |\n";
    assert!(page.contains(wanted), "{page}");
    assert!(page.contains("1 compared: 0 agree, 1 differ, 1 not asked"), "{page}");
}

#[rstest]
#[case("meets: true, verdicts: [pass]", "meets: true, verdicts: []", "name the verdicts")]
#[case("verdicts: [under-block]", "verdicts: [pass]", "against the policy is no pass")]
#[case("word: ok, by", "word: fine, by", "nothing says what `fine` means")]
#[case("by: [cell-2]", "by: [cell-9]", "there is no column `cell-9`")]
#[case("by: [cell-2]", "by: [cell-3]", "cell-3 has two outcomes as root")]
#[case("cases: [fs/write]", "cases: []", "name the cases")]
#[case("probes: [b01]", "probes: [b09]", "there is no probe `b09`")]
#[case("columns: [jail]", "columns: [jial]", "there is no column `jial`")]
#[case("reason: Told otherwise.", "reason: ' '", "give the reason")]
#[case("because: policy", "because: whatever", "unknown variant `whatever`")]
#[case("asks: May", "ask: May", "unknown field `ask`")]
fn a_table_that_does_not_fit_is_refused(#[case] from: &str, #[case] to: &str, #[case] why: &str) {
    assert!(TABLE.contains(from), "{from}");
    let error = ByHand::read(Path::new("table.yaml"), &TABLE.replacen(from, to, 1)).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn the_built_in_table_asks_what_the_corpus_asks() {
    let table = ByHand::built_in().unwrap();
    let suite = Suite::embedded().unwrap();
    let known: BTreeSet<&str> = suite.cases.iter().map(|case| case.id.as_str()).collect();
    let named = table.probes.values().flat_map(|probe| &probe.cases);
    let unknown: Vec<_> = named.filter(|id| !known.contains(id.as_str())).collect();
    assert!(unknown.is_empty(), "no such cases: {unknown:?}");
}

#[test]
fn the_built_in_table_is_whole() {
    let table = ByHand::built_in().unwrap();
    let ids: BTreeSet<String> = table.probes.keys().cloned().collect();
    assert_eq!(ids, probes());
    // One cell a probe, backend and user; without a sandbox two were not asked.
    let seen = |name: &str, user| {
        table.probes.values().filter(|probe| table.outcome_for(probe, name, user).is_some()).count()
    };
    for (name, column) in &table.columns {
        let missing = if name == "none" { 2 } else { 0 };
        for user in &column.users {
            assert_eq!(seen(name, *user), ids.len() - missing, "{name} as {}", user.keyword());
        }
    }
}

/// Every probe there is: by group, without b27, which does not exist.
fn probes() -> BTreeSet<String> {
    let groups = [('a', 22), ('b', 31), ('c', 5), ('d', 10), ('e', 9), ('f', 2), ('g', 4)];
    let all = groups.into_iter().flat_map(|(group, last)| (1..=last).map(move |n| (group, n)));
    all.map(|(group, n)| format!("{group}{n:02}")).filter(|id| id != "b27").collect()
}
