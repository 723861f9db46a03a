//! From a run and an older list to a newer one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boxproof_reports::{Level, Outcome, TwinState};
use rstest::rstest;

use super::*;
use crate::known::{KnownFailures, KnownOutcome};

/// A case of its own, a table of three, and another table.
fn suite() -> Suite {
    let head = "purpose: It works.\nrequirement: R-x\nact: {sh: 'true'}\nexpect: {allowed: {}}\n";
    let table = format!("{head}rows: {{a: {{}}, b: {{}}, c: {{}}}}\n");
    let files = [("fs/one", head), ("fs/table", &table), ("net/table", &table)];
    Suite::from_files(
        "test",
        files.map(|(id, text)| (PathBuf::from(format!("{id}.yaml")), text.to_owned())).into(),
        &BTreeMap::from([(
            PathBuf::from("r.yaml"),
            "R-x: {text: It works., source: a test}\n".to_owned(),
        )]),
    )
    .unwrap()
}

/// Parses `id verdict reason`, a row a line.
fn rows(text: &str) -> Vec<CaseRow> {
    text.lines().filter(|line| !line.trim().is_empty()).map(case_row).collect()
}

fn case_row(line: &str) -> CaseRow {
    let words: Vec<&str> = line.split_whitespace().collect();
    CaseRow {
        id: words[0].to_owned(),
        backend: "box".to_owned(),
        verdict: serde_json::from_value(words[1].into()).unwrap(),
        reason: words.get(2).copied().unwrap_or_default().to_owned(),
        message: format!("what {} showed", words[0]),
        outcome: Outcome::Expected,
        known: None,
        level: Level::Must,
        area: "fs".to_owned(),
        file: None,
        profiles: Vec::new(),
        host: Vec::new(),
        requirements: Vec::new(),
        needs: Vec::new(),
        about: None,
        twin: TwinState::None,
        duration_ms: 1.0,
        purpose: String::new(),
        asked: None,
        arms: Vec::new(),
        earlier: Vec::new(),
        blind: None,
        reproduce: None,
        evidence: None,
        stress: None,
    }
}

fn setting(user: UserKind, version: &str) -> RunSetting {
    let version = Some(version.to_owned());
    RunSetting { os: SystemName::Linux, user, version, today: CivilDate::today() }
}

fn known(text: &str) -> Vec<KnownRow> {
    KnownFailures::parse(Path::new("box.known.yaml"), text, "box").unwrap().rows().to_vec()
}

/// Renders `case verdict signature scope: reason` of every row.
fn rendered_rows(rows: &[KnownRow]) -> Vec<String> {
    let row = |row: &KnownRow| {
        let user = row.user.map(|user| format!(" {}", user.keyword())).unwrap_or_default();
        let version = row.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
        let race = |outcome: &KnownOutcome| {
            format!("{} {} {}x", outcome.verdict, outcome.signature, outcome.seen)
        };
        let outcome = match (row.verdict, &row.signature) {
            (Some(verdict), Some(signature)) => format!("{verdict} {signature}"),
            _ => row.any_of.iter().map(race).collect::<Vec<_>>().join(" or "),
        };
        format!("{} {outcome}{user}{version}: {}", row.case, row.reason)
    };
    rows.iter().map(row).collect()
}

/// The list after one run as root.
fn after(old: &str, measured: &str) -> Vec<String> {
    let rows = rows(measured);
    let run = MeasuredRun { setting: setting(UserKind::Root, "1.0"), rows: rows.iter().collect() };
    rendered_rows(&update(&suite(), &known(old), &[run], UpdateOptions::default()))
}

const ALL_OF_TABLE: &str =
    "fs/table/a leak left-behind\nfs/table/b leak left-behind\nfs/table/c leak left-behind\n";

#[test]
fn only_failures_are_written_sorted_and_for_the_user_that_was_measured() {
    let measured = "net/table/a under-block oracle\nfs/one contract exit\nfs/table/a pass\n\
                    fs/table/b inconclusive no-record\nfs/table/c unsupported cap\n";
    let wanted = [
        "fs/one contract exit root: Seen: what fs/one showed",
        "net/table/a under-block oracle root: Seen: what net/table/a showed",
    ];
    assert_eq!(after("[]", measured), wanted);
}

#[rstest]
#[case(ALL_OF_TABLE, &["fs/table/* leak left-behind root"])]
#[case(&ALL_OF_TABLE.replace("fs/table/b leak left-behind", "fs/table/b not-applicable ipv6"), &["fs/table/* leak left-behind root"])]
#[case(&ALL_OF_TABLE.replace("fs/table/b leak left-behind", "fs/table/b pass"),
    &["fs/table/a leak left-behind root", "fs/table/c leak left-behind root"])]
#[case(&ALL_OF_TABLE.replace("b leak left-behind", "b leak residue"),
    &["fs/table/a leak left-behind root", "fs/table/b leak residue root", "fs/table/c leak left-behind root"])]
#[case(&ALL_OF_TABLE.replace("fs/table/b leak left-behind\n", ""),
    &["fs/table/a leak left-behind root", "fs/table/c leak left-behind root"])]
#[case("fs/table/a leak left-behind\nfs/table/b not-applicable x\nfs/table/c not-applicable x", &["fs/table/a leak left-behind root"])]
fn a_table_is_one_row_where_all_of_it_agrees(#[case] measured: &str, #[case] wanted: &[&str]) {
    let found = after("[]", measured);
    let found: Vec<_> = found.iter().map(|row| row.split_once(": ").unwrap().0).collect();
    assert_eq!(found, wanted);
}

const WRITTEN: &str = "
- {case: 'fs/table/*', verdict: leak, signature: left-behind, reason: By hand., link: owner/repo#1}
- {case: fs/one, verdict: contract, signature: exit, reason: One code for all., version: '1.0'}
";

#[test]
fn words_stay_with_what_still_fails_alike() {
    let measured = format!("{ALL_OF_TABLE}fs/one contract exit\n");
    // Nothing is known of the ordinary user but what was written before.
    let wanted =
        ["fs/one contract exit 1.0: One code for all.", "fs/table/* leak left-behind: By hand."];
    assert_eq!(after(WRITTEN, &measured), wanted);
}

#[test]
fn what_passes_or_fails_otherwise_for_one_user_stays_known_for_the_other() {
    let measured =
        ALL_OF_TABLE.replace("c leak left-behind", "c pass") + "fs/one under-block oracle\n";
    let wanted = [
        "fs/one under-block oracle root: Seen: what fs/one showed",
        "fs/one contract exit ordinary 1.0: One code for all.",
        "fs/table/a leak left-behind: By hand.",
        "fs/table/b leak left-behind: By hand.",
        "fs/table/c leak left-behind ordinary: By hand.",
    ];
    assert_eq!(after(WRITTEN, &measured), wanted);
}

#[rstest]
#[case("fs/one inconclusive no-record")]
#[case("fs/one not-applicable ipv6")]
#[case("fs/table/a pass")]
fn what_was_not_learnt_changes_nothing(#[case] measured: &str) {
    let old = "- {case: fs/one, verdict: contract, signature: exit, reason: Old.}";
    assert_eq!(after(old, measured), ["fs/one contract exit: Old."]);
}

#[rstest]
#[case("- {case: fs/one, verdict: leak, signature: x, reason: Old., user: root}", "fs/one pass")]
#[case(
    "- {case: fs/one, verdict: leak, signature: x, reason: Old., user: root}",
    "fs/one unsupported cap"
)]
#[case("- {case: fs/gone, verdict: leak, signature: x, reason: Old.}", "fs/one pass")]
fn what_passes_or_is_gone_leaves_the_list(#[case] old: &str, #[case] measured: &str) {
    assert_eq!(after(old, measured), [""; 0]);
}

#[test]
fn two_users_that_fail_alike_share_a_row_and_others_do_not() {
    let (root, ordinary) = (
        rows("fs/one leak left-behind\nnet/table/a contract exit\n"),
        rows("fs/one leak left-behind\nnet/table/a pass\n"),
    );
    let run = |user, rows: &'static [CaseRow]| MeasuredRun {
        setting: setting(user, "1.0"),
        rows: rows.iter().collect(),
    };
    let runs = [run(UserKind::Root, root.leak()), run(UserKind::Ordinary, ordinary.leak())];
    let wanted = [
        "fs/one leak left-behind: Seen: what fs/one showed",
        "net/table/a contract exit root: Seen: what net/table/a showed",
    ];
    assert_eq!(rendered_rows(&update(&suite(), &[], &runs, UpdateOptions::default())), wanted);
}

#[test]
fn what_only_one_version_gets_wrong_names_it() {
    let (old, new) = (rows("fs/one leak left-behind"), rows("fs/one pass"));
    let run = |version, rows: &'static [CaseRow]| MeasuredRun {
        setting: setting(UserKind::Root, version),
        rows: rows.iter().collect(),
    };
    let runs = [run("1.0", old.leak()), run("2.0", new.leak())];
    let found = rendered_rows(&update(&suite(), &[], &runs, UpdateOptions::default()));
    assert_eq!(found, ["fs/one leak left-behind root 1.0: Seen: what fs/one showed"]);
}

#[rstest]
#[case("[]", &["leak left-behind", "leak left-behind"], "fs/one leak left-behind root: Seen: what fs/one showed")]
#[case("[]", &["leak left-behind", "inconclusive no-record"], "fs/one leak left-behind root: Seen: what fs/one showed")]
#[case("[]", &["leak left-behind", "pass", "pass"], "fs/one pass  2x or leak left-behind 1x root: Seen: what fs/one showed")]
#[case("[]", &["leak left-behind", "under-block oracle"], "fs/one under-block oracle 1x or leak left-behind 1x root: Seen: what fs/one showed")]
#[case(RACE, &["pass"], "fs/one pass  2x or leak left-behind 2x root: A race.")]
#[case(RACE, &["contract exit"], "fs/one pass  1x or contract exit 1x or leak left-behind 2x root: A race.")]
#[case(RACE, &["inconclusive no-record"], "fs/one pass  1x or leak left-behind 2x root: A race.")]
fn outcomes_of_a_race_are_counted(#[case] old: &str, #[case] seen: &[&str], #[case] wanted: &str) {
    let measured: Vec<_> = seen.iter().map(|seen| rows(&format!("fs/one {seen}"))).collect();
    let run = |rows: &'static [CaseRow]| MeasuredRun {
        setting: setting(UserKind::Root, "1.0"),
        rows: rows.iter().collect(),
    };
    let runs: Vec<_> = measured.into_iter().map(|rows| run(rows.leak())).collect();
    let found = update(&suite(), &known(old), &runs, UpdateOptions::default());
    assert_eq!(rendered_rows(&found), [wanted]);
    assert_eq!(rendered_rows(&known(&text("box", &found))), [wanted]);
}

#[test]
fn a_race_that_no_run_measured_stays() {
    let wanted = "fs/one leak left-behind 2x or pass  1x root: A race.";
    assert_eq!(after(RACE, "fs/table/a pass"), [wanted]);
}

const RACE: &str = "
- case: fs/one
  any_of: [{verdict: leak, signature: left-behind, seen: 2}, {verdict: pass, seen: 1}]
  reason: A race.
  user: root
";

#[test]
fn what_taught_nothing_is_written_only_when_asked_for() {
    let rows = rows("fs/one inconclusive no-record");
    let run = MeasuredRun { setting: setting(UserKind::Root, "1"), rows: rows.iter().collect() };
    let options = UpdateOptions { unlearnt: true, several_systems: true };
    let found = update(&suite(), &[], &[run], options);
    let wanted = "fs/one inconclusive no-record root: Seen: what fs/one showed";
    assert_eq!(
        (rendered_rows(&found).remove(0).as_str(), found[0].os),
        (wanted, Some(SystemName::Linux))
    );
}

#[test]
fn the_file_reads_back_as_it_was_meant() {
    let mut rows = known(WRITTEN);
    rows[0].reason = "a: \"b\" # é\n- c".to_owned();
    rows[1].expires = Some(CivilDate::try_from("2027-01-01".to_owned()).unwrap());
    let text = text("box", &rows);
    assert!(text.contains("- case: fs/table/*\n  verdict: leak\n"), "{text}");
    assert!(text.contains("  expires: \"2027-01-01\"\n  version: \"1.0\"\n"), "{text}");
    let again = known(&text);
    assert_eq!(rendered_rows(&again), rendered_rows(&rows));
    assert_eq!(
        (again[0].link.clone(), again[1].expires.clone()),
        (rows[0].link.clone(), rows[1].expires.clone())
    );
    assert_eq!(changes(&rows, &again), (0, 0));
    assert_eq!(changes(&rows, &again[..1]), (0, 1));
}
