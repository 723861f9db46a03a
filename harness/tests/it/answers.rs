//! Questions about policy documents: engines that are spoilt in one way each, and the rows of the
//! corpus that see the fault. A neighbour does not, so that the rule is seen and not the
//! spoiling.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use crate::support::fakes::{confined, fake, verdict};
use crate::support::{Place, as_we_are, has};
use rstest::rstest;
use serde_json::Value;

/// Runs the rows of the built-in corpus that `filters` select against `spec`.
fn rows(place: &Place, spec: &str, filters: &[&str]) -> BTreeMap<String, Value> {
    let (scratch, record) = (place.arg("scratch"), place.arg("record.ndjson"));
    let mut args = vec!["run", "--backend", spec, "--scratch", &scratch, "--report", &record];
    args.extend(as_we_are());
    args.extend(filters);
    place.run(&args);
    let rows = place.record("record.ndjson").into_iter().filter(|line| line["type"] == "case");
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row)).collect()
}

#[rstest]
#[case::first_match(
    "reverses-rules",
    &[
        ("policy/last/negation-last", "under-block decision"),
        ("policy/last/grant-last", "over-block decision"),
        ("policy/last/wider-rule-last", "contract rule"),
        ("policy/last/negation-alone", "pass"),
        ("policy/deny-last/deny", "pass"),
    ]
)]
#[case::no_denies(
    "forgets-denies",
    &[
        ("policy/deny-last/deny", "under-block decision"),
        ("policy/deny-last/modify", "under-block decision"),
        ("policy/merge-deny/of-the-host", "under-block decision"),
        ("policy/exception/later-deny", "under-block decision"),
        ("policy/effective/rules-and-denies", "contract rule"),
        ("policy/nothing/only-denies-and-one-matches", "contract rule"),
        ("policy/deny-last/beside", "pass"),
        ("policy/last/negation-last", "pass"),
    ]
)]
#[case::no_workspace(
    "forgets-workspace",
    &[
        ("policy/unrestricted/read-deny", "pass"),
        ("policy/effective/host-before-workspace", "contract rule"),
        ("policy/merge-valid/workspace-alone-is-wrong", "under-block decision"),
        ("policy/merge-valid/host-alone-is-wrong", "pass"),
    ]
)]
#[case::climbing(
    "climbs",
    &[
        ("policy/path-inside/upwards-inside", "under-block decision"),
        ("policy/path-inside/upwards-and-back", "under-block decision"),
        ("policy/path-inside/absolute", "pass"),
        ("policy/path-spelling/dot-inside", "pass"),
    ]
)]
#[case::no_links(
    "follows-no-link",
    &[
        ("policy/link/to-a-denied-file", "under-block decision"),
        ("policy/link/dangling-outside", "under-block decision"),
        ("policy/link/inside", "contract rule"),
        ("policy/link/loop", "under-block decision"),
        ("policy/link/no-link", "pass"),
        ("policy/link/denied-name-to-an-allowed-file", "pass"),
    ]
)]
#[case::anything_goes(
    "takes-every-document",
    &[
        ("policy/coverage/another-directory", "under-block decision"),
        ("policy/keys/deny-beside-spec", "under-block decision"),
        ("policy/version/one", "under-block decision"),
        ("policy/version/two", "pass"),
        ("policy/profile-name/another-name", "pass"),
    ]
)]
#[case::no_places(
    "loses-places",
    &[
        ("policy/place/rule-in-flow", "contract rule"),
        ("policy/origin/grant", "contract rule"),
        ("policy/said/nothing", "pass"),
    ]
)]
#[case::exit_code(
    "exits-with-zero",
    &[
        ("policy/nothing/no-match", "contract exit"),
        ("policy/said/nothing", "contract exit"),
        ("policy/version/two", "pass"),
    ]
)]
// A question without an answer is no denial.
#[case::silent(
    "keeps-answers",
    &[
        ("policy/nothing/no-match", "inconclusive no-record"),
        ("policy/said/nothing", "inconclusive no-record"),
        ("policy/version/two", "inconclusive no-record"),
        ("policy/effective/nothing", "inconclusive no-record"),
    ]
)]
#[case::half_silent(
    "answers-once",
    &[
        ("policy/own-list/modify-deny-is-read", "inconclusive no-record"),
        ("policy/own-list/read-deny-is-not-read", "inconclusive no-record"),
    ]
)]
fn a_spoilt_engine_is_found_out(#[case] name: &str, #[case] wanted: &[(&str, &str)]) {
    let (place, spec) = fake(name);
    let filters: Vec<&str> = wanted.iter().map(|(id, _)| *id).collect();
    let rows = rows(&place, &spec, &filters);
    let found: Vec<_> =
        filters.iter().map(|id| (*id, rows.get(*id).map(verdict).unwrap_or_default())).collect();
    let wanted: Vec<_> = wanted.iter().map(|(id, word)| (*id, (*word).to_owned())).collect();
    assert_eq!(found, wanted, "{rows:#?}");
}

#[test]
fn the_record_has_the_answer() {
    let place = Place::new();
    let rows = rows(&place, "reference", &["policy/origin/global-deny"]);
    let row = &rows["policy/origin/global-deny"];
    assert_eq!((verdict(row), row["twin"].as_str()), ("pass".to_owned(), Some("not-needed")));
    let arm = confined(row);
    assert_eq!(arm["exit"]["code"], 1, "{arm}");
    let told: Value = serde_json::from_str(arm["stdout"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(told["decisions"][0]["decided"]["decided_by"]["line"], 8);
}

/// A question that is not asked is no denial.
#[test]
fn who_speaks_no_verbs_is_not_asked() {
    let place = Place::new();
    place.write("sh.yaml", "name: box\nsummary: A fake.\nprogram: sh\nclaims: all\nargv: -c\n");
    let rows = rows(&place, &place.arg("sh.yaml"), &["policy/nothing/*"]);
    assert_eq!(rows.len(), 6);
    assert!(rows.values().all(|row| verdict(row) == "unsupported inexpressible"), "{rows:#?}");
}

/// Exports the script of a row against `spec`, runs it, and gives exit code and output.
fn script(place: &Place, spec: &str, id: &str) -> (Option<i32>, String) {
    let (scratch, directory) = (place.arg("scratch"), place.arg("export"));
    let args = ["repro", id, "--backend", spec, "--scratch", &scratch, "--export", &directory];
    let ran = place.run(&args);
    let path = ran.exits(0).stdout.trim();
    let output = std::process::Command::new("sh").arg(path).output().unwrap();
    assert!(!place.path("export/work/arm").exists(), "the script left its directory");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[rstest]
#[case::path("policy/link/outside")]
#[case::line("policy/origin/global-deny")]
#[case::no_path("policy/path-inside/upwards")]
#[case::documents("policy/version/one")]
#[case::in_force("policy/effective/exception")]
#[case::letters("policy/literal/decomposed-letter")]
#[case::line_feed("policy/subtree/name-with-a-line-feed")]
fn a_script_asks_the_same(#[case] id: &str) {
    let (code, said) = script(&Place::new(), "reference", id);
    assert_eq!(code, Some(1), "{said}");
    has(&said, "everything is as it must be");
}

#[rstest]
#[case("forgets-denies", "policy/deny-last/deny", 0, "FAILS   it ended with 0 instead of 1")]
#[case("loses-places", "policy/origin/grant", 0, "FAILS   the answer lacks \"file\":\"host.yaml\"")]
#[case("keeps-answers", "policy/nothing/no-match", 2, "wrote no answer")]
fn a_script_tells_what_a_spoilt_engine_gets_wrong(
    #[case] name: &str,
    #[case] id: &str,
    #[case] code: i32,
    #[case] says: &str,
) {
    let (place, spec) = fake(name);
    let (exit, said) = script(&place, &spec, id);
    assert_eq!(exit, Some(code), "{said}");
    has(&said, says);
}
