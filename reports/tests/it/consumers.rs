//! Forms that other programs read: parsed by other people's parsers, also where every text of the
//! record is hostile.

use std::collections::BTreeMap;

use boxproof_reports::{
    CaseRow, KnownFailure, Level, Outcome, Run, StreamText, Verdict, annotations, badge, junit,
    merge, merge_partial, record, sarif, tap,
};
use rstest::rstest;
use serde_json::Value;

use crate::sample::{backend, bad, examples, header, row, run};

/// Text that means something to terminals, runners, XML, HTML, JSON or TAP.
const HOSTILE: &str = "\u{1b}[31m\0]]></failure><x y=\"'\u{fffe}\u{ffff}\u{202e}\n::error::x\n\
                       ##[group]\n</script><b>\r\n# TODO\nok 1 - \\# SKIP\nBail out! %0A::stop-commands::t\n";

/// Makes a run of failures in which every text is `text`.
fn failing(text: &str, rows: usize) -> Run {
    let make = |number: usize| CaseRow {
        message: text.to_owned(),
        purpose: text.to_owned(),
        reproduce: Some(text.to_owned()),
        arms: vec![boxproof_reports::ArmRow {
            arm: boxproof_reports::ArmName::Confined,
            command: String::new(),
            exit: None,
            stdout: StreamText::from_bytes(text.as_bytes()),
            stderr: StreamText::from_bytes(text.as_bytes()),
            observation: None,
            oracles: Vec::new(),
            duration_ms: 1.0,
        }],
        ..bad(&format!("fs/{text}/{number}"), "b<ox", Verdict::UnderBlock, text)
    };
    let mut rows: Vec<CaseRow> = (0..rows).map(make).collect();
    rows[0].outcome = Outcome::Xfail;
    rows[0].known = Some(KnownFailure { reason: text.to_owned(), link: Some(text.to_owned()) });
    run(&header(&[backend("b<ox")], &rows), &rows)
}

fn parsed(runs: &[Run]) -> (String, Value) {
    let matrix = merge(runs).unwrap();
    (junit::render(&matrix), serde_json::from_str(&sarif::render(&matrix).unwrap()).unwrap())
}

/// The attributes and elements that the common schema of JUnit allows, by element.
const ALLOWED: [(&str, &[&str], &[&str]); 10] = [
    ("testsuites", &["name", "time", "tests", "failures", "errors"], &["testsuite"]),
    (
        "testsuite",
        &["name", "tests", "failures", "errors", "time", "skipped", "timestamp"],
        &["properties", "testcase"],
    ),
    ("properties", &[], &["property"]),
    ("property", &["name", "value"], &[]),
    (
        "testcase",
        &["name", "time", "classname"],
        &["skipped", "error", "failure", "flakyFailure", "flakyError"],
    ),
    ("flakyFailure", &["type", "message"], &[]),
    ("flakyError", &["type", "message"], &[]),
    ("failure", &["type", "message"], &[]),
    ("error", &["type", "message"], &[]),
    ("skipped", &["message"], &[]),
];

fn check_junit(text: &str) {
    let document = roxmltree::Document::parse(text).unwrap();
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        let name = element.tag_name().name();
        let (_, attributes, children) = ALLOWED.iter().find(|(known, ..)| *known == name).unwrap();
        for attribute in element.attributes() {
            assert!(attributes.contains(&attribute.name()), "{name}: {}", attribute.name());
        }
        for child in element.children().filter(roxmltree::Node::is_element) {
            assert!(children.contains(&child.tag_name().name()), "{child:?} in {name}");
        }
    }
    let count = |name: &str| document.descendants().filter(|n| n.has_tag_name(name)).count();
    let said = |name: &str| document.root_element().attribute(name).unwrap().to_owned();
    assert_eq!(said("tests"), count("testcase").to_string());
    assert_eq!(said("failures"), count("failure").to_string());
    assert_eq!(said("errors"), count("error").to_string());
}

fn check_sarif(file: &Value) {
    assert_eq!(file["version"], "2.1.0");
    let runs = file["runs"].as_array().unwrap();
    let mut ids: Vec<&str> =
        runs.iter().map(|run| run["automationDetails"]["id"].as_str().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), runs.len(), "one category a column");
    for run in runs {
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        for result in run["results"].as_array().unwrap() {
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            let place = place.as_str().unwrap();
            assert!(place.starts_with("cases/corpus/"), "{place}");
            assert!(place.bytes().all(|b| b.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&b)));
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
        }
    }
}

#[test]
fn examples_are_read_by_others() {
    for (name, runs) in examples() {
        let (junit, sarif) = parsed(&runs);
        check_junit(&junit);
        check_sarif(&sarif);
        let badge: Value = serde_json::from_str(&badge::render(&merge(&runs).unwrap())).unwrap();
        let color = if name == "green" { "brightgreen" } else { "red" };
        assert_eq!(
            (&badge["schemaVersion"], &badge["color"]),
            (&1.into(), &color.into()),
            "{name}"
        );
    }
}

#[rstest]
#[case::of_every_kind(HOSTILE.to_owned())]
#[case::a_long_line("<&]]>:".repeat(1 << 10))]
fn hostile_texts_stay_texts(#[case] text: String) {
    let runs = [failing(&text, 12)];
    let matrix = merge(&runs).unwrap();
    let (junit, sarif) = parsed(&runs);
    check_junit(&junit);
    check_sarif(&sarif);
    let harmless = roxmltree::Document::parse(&junit).unwrap();
    assert_eq!(harmless.descendants().filter(|n| n.has_tag_name("testcase")).count(), 12);
    assert!(junit.len() < 12 * 64 * 1024, "{}", junit.len());

    let points = tap::render(&matrix);
    let ours = |line: &&str| line.starts_with("ok ") || line.starts_with("not ok ");
    assert_eq!(points.lines().filter(ours).count(), 12);
    assert!(!points.contains("\nBail out!") && !points.contains('\u{1b}'));
    assert_eq!(points.matches(" # TODO ").count(), 1, "the known failure alone");
    assert_eq!(points.matches(" # SKIP ").count(), 0);

    let commands = annotations::render(&matrix, &BTreeMap::new());
    assert_eq!(commands.lines().count(), 10);
    assert!(commands.lines().all(|line| line.starts_with("::error ") && line.len() < 16_384));
    assert!(commands.lines().all(|line| !line.contains(['\r', '\u{1b}', '\0'])));
    assert!(commands.lines().last().unwrap().contains("2 more"), "{commands}");
    // No part of a text is left that a runner takes for the end of a property.
    assert!(commands.lines().all(|line| {
        let properties = line.split("::").nth(1).unwrap();
        properties.matches(',').count() <= 1 && !properties.contains(":")
    }));
}

#[test]
fn a_finding_on_a_built_in_case_is_shown_at_the_manifest() {
    let runs = [failing("broken", 2)];
    let matrix = merge(&runs).unwrap();
    let manifests = BTreeMap::from([(runs[0].rows[0].backend.clone(), "/r/box,a.yaml".to_owned())]);
    let commands = annotations::render(&matrix, &manifests);
    assert!(commands.starts_with("::error file=/r/box%2Ca.yaml,title="), "{commands}");
    let mut own = failing("broken", 2);
    own.header.corpus.source = "./mine".to_owned();
    let runs = [own];
    let commands = annotations::render(&merge(&runs).unwrap(), &manifests);
    assert!(commands.starts_with("::error file=mine/"), "{commands}");
}

#[test]
fn sarif_stays_within_what_is_taken() {
    let long = "]]> ::error::".repeat((1 << 20) / 13);
    let mut rows: Vec<CaseRow> = (0..7_000)
        .map(|n| CaseRow {
            message: "x".repeat(900),
            ..bad(&format!("fs/a/{n}"), "box", Verdict::Leak, "x")
        })
        .collect();
    rows[0].message = long;
    let runs = [run_of(&[backend("box")], &rows)];
    check_junit(&junit::render(&merge(&[run_of(&[backend("box")], &rows[..2])]).unwrap()));
    let text = sarif::render(&merge(&runs).unwrap()).unwrap();
    assert!(text.len() < 10_000_000, "{}", text.len());
    let file: Value = serde_json::from_str(&text).unwrap();
    let run = &file["runs"][0];
    let kept = run["results"].as_array().unwrap().len() as u64;
    assert!(kept > 1_000 && kept < 7_000, "{kept}");
    assert_eq!(run["properties"]["resultsLeftOut"], 7_000 - kept);

    let names: Vec<String> = (0..21).map(|number| format!("box{number}")).collect();
    let rows: Vec<CaseRow> = names.iter().map(|name| row("fs/a/b", name)).collect();
    let backends: Vec<_> = names.iter().map(|name| backend(name)).collect();
    let many = [run_of(&backends, &rows)];
    let error = sarif::render(&merge(&many).unwrap()).unwrap_err();
    assert!(error.to_string().contains("21 columns"), "{error}");
}

fn run_of(backends: &[boxproof_reports::BackendInfo], rows: &[CaseRow]) -> Run {
    run(&header(backends, rows), rows)
}

#[test]
fn what_does_not_count_is_no_failure() {
    let should = CaseRow { level: Level::Should, ..bad("fs/a/b", "box", Verdict::OverBlock, "x") };
    let rows = [should, bad("fs/a/c", "box", Verdict::Inconclusive, "no-record")];
    let mut header = header(&[backend("box")], &rows);
    let (junit_text, _) = parsed(&[run(&header, &rows)]);
    assert!(junit_text.contains("failures=\"0\" errors=\"1\""), "{junit_text}");
    header.selection.strict = true;
    let (strict, _) = parsed(&[run(&header, &rows)]);
    assert!(strict.contains("failures=\"1\" errors=\"1\""), "{strict}");
}

#[test]
fn a_run_that_was_cut_short_says_so_in_every_form() {
    let rows = [row("fs/a/b", "box"), row("fs/a/c", "box")];
    let header = header(&[backend("box")], &rows);
    let mut writer = boxproof_reports::RecordWriter::new(Vec::new(), &header).unwrap();
    writer.row(&rows[0]).unwrap();
    let (_, bytes) = writer.finish_interrupted("SIGTERM").unwrap();
    let runs = [record::read(bytes.as_slice()).unwrap()];

    let refused = merge(&runs).unwrap_err().to_string();
    assert!(refused.contains("SIGTERM ended after 1 rows"), "{refused}");
    let matrix = merge_partial(&runs).unwrap();
    let told = "was ended by SIGTERM: 1 of up to 2 rows are there";
    check_junit(&junit::render(&matrix));
    let options = boxproof_reports::terminal::TerminalOptions::default();
    for page in [
        junit::render(&matrix),
        tap::render(&matrix),
        boxproof_reports::html::render(&matrix),
        boxproof_reports::markdown::render(&matrix, 65_535),
        boxproof_reports::terminal::render(&matrix, options).replace("\n", " "),
    ] {
        assert!(page.contains(told), "{page}");
    }
    let sarif: Value = serde_json::from_str(&sarif::render(&matrix).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert!(badge::render(&matrix).contains("orange"));
}
