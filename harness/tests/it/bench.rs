//! `boxproof bench`: planted system calls are red, the same program is not, criterion draws from the
//! samples, and the gate reads the record. Verdicts on times are tested by samples that a test makes.
#![cfg(target_os = "linux")]

use rstest::rstest;
use serde_json::Value;

use crate::support::{BOXPROOF, Place, Ran, WORKS, has};

/// Runs the command as it is, by the program that is measured.
const FAKE: &str = "name: fake
summary: Runs the command as it is, by the program that is measured.
program: sh
argv: |
  {{ command }}
claims: all
";

/// A program that does `work` and becomes the command.
fn doing(place: &Place, name: &str, work: &str) -> String {
    place.program(name, &format!("#!/bin/sh\n{work}\nexec \"$@\"\n"));
    place.arg(name)
}

/// The lane `name` of the only measurement.
fn lane(place: &Place, name: &str) -> Value {
    let record = place.record("timing.ndjson");
    let lanes = record[1]["lanes"].as_array().unwrap_or_else(|| panic!("{record:?}")).clone();
    lanes.into_iter().find(|lane| lane["lane"] == name).unwrap()
}

/// Only counts are judged here, for they are the same at every load; times are what is drawn.
#[test]
fn one_more_process_is_red_by_its_calls_for_the_bench_and_the_gate() {
    let place = Place::new();
    let turns = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
    let base = doing(&place, "base", turns);
    let head = doing(&place, "head", &format!("{turns}; true & wait"));
    let fake = place.write("fake.yaml", FAKE).display().to_string();
    let timing = place.arg("timing.ndjson");
    let (scratch, pages) = (place.arg("scratch"), place.arg("pages"));
    let fixed = ["bench", "startup/net-none", "--quick", "--budget", "600", "--backend", &fake];
    let named = ["--base", &base, "--head", &head, "--scratch", &scratch, "--report", &timing];
    let lanes = ["--lane", "counts", "--lane", "cpu", "--criterion", &pages];
    place.run(&[&fixed[..], &named, &lanes].concat()).exits(1);
    let found = lane(&place, "counts");
    assert_eq!((&found["verdict"], &found["stage"]), (&"regression".into(), &2.into()), "{found}");
    criterion_has_the_samples(&place);

    // The gate says the same, and refuses evidence that is none.
    let place = with_evidence(place, "[timing]\nlanes = [\"counts\"]\n");
    let red = gate(&place, &["--timing", &timing]);
    has(&red.exits(5).stdout, "red: timing: fake: startup/net-none: counts ");
    has(&gate(&place, &[]).exits(5).stdout, "red: timing: no record: make one");
    let skipped = gate(&place, &["--skip-timing", "the host is shared"]);
    has(&skipped.exits(0).stdout, "note: timing: skipped: the host is shared");
    let page =
        place.run(&["report", &place.arg("run.ndjson"), "--timing", &timing, "--format", "html"]);
    has(&page.exits(0).stdout, "aria-label=\"new by old in the lane cpu\"");
    let text = std::fs::read_to_string(&timing).unwrap();
    place.write("timing.ndjson", text.lines().next().unwrap());
    has(&gate(&place, &["--timing", &timing]).exits(5).stdout, "it was cut short");
}

/// Checks that criterion drew from the samples of the record, and that its estimates are in there.
fn criterion_has_the_samples(place: &Place) {
    let found = lane(place, "cpu");
    assert!(place.path("pages/startup-net-none/cpu/report/index.html").is_file());
    for (side, kind) in [("base", "base"), ("head", "new")] {
        let blocks = found["blocks"].as_array().unwrap();
        let values = blocks.iter().flat_map(|block| block[side].as_array().unwrap());
        let samples: Vec<f64> = values.map(|value| value.as_f64().unwrap().trunc()).collect();
        let file = place.path(&format!("pages/startup-net-none/cpu/{kind}/sample.json"));
        let drawn: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(drawn["times"], serde_json::json!(samples));
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let estimate = found["criterion"][side]["mean"]["point"].as_f64().unwrap();
        assert!((estimate / mean - 1.0).abs() < 1e-9, "{estimate} is not {mean}");
    }
}

/// Adds evidence of a run that is its own baseline, and a policy with `rules`.
fn with_evidence(place: Place, rules: &str) -> Place {
    place.write("corpus/exec/works.yaml", WORKS);
    place.write("boxproof.toml", &format!("[baseline]\nrecord = \"run.ndjson\"\n{rules}"));
    let report = place.arg("run.ndjson");
    place.boxproof("run", &["--backend", "none", "--report", &report]).exits(0);
    place
}

fn gate(place: &Place, args: &[&str]) -> Ran {
    let (policy, record) = (place.arg("boxproof.toml"), place.arg("run.ndjson"));
    place.run(&[&["gate", "--policy", policy.as_str(), record.as_str()][..], args].concat())
}

#[test]
fn the_reference_that_mounts_everything_twice_is_red_by_its_calls() {
    let place = Place::new();
    let twice = format!("[ \"$2\" = run ] && {BOXPROOF} \"$@\" >/dev/null");
    for (name, work) in [("base", "true"), ("head", twice.as_str())] {
        place.program(name, &format!("#!/bin/sh\n{work}\nexec {BOXPROOF} \"$@\"\n"));
    }
    let (base, head, scratch) = (place.arg("base"), place.arg("head"), place.arg("scratch"));
    let args = ["bench", "startup/trivial", "--quick", "--lane", "counts", "--scratch", &scratch];
    let ran = place.run(&[&args[..], &["--base", &base, "--head", &head]].concat());
    has(&ran.exits(1).stdout, "counts  regression ");
    let same = place.run(&[&args[..], &["--base", &base, "--head", &base]].concat());
    has(&same.exits(0).stdout, "counts  equivalent ");
}

#[rstest]
#[case(&["--base", "/nowhere/box"], 2, "/nowhere/box: No such file")]
#[case(&["nothing/*", "--base", BOXPROOF], 2, "no measurement matches nothing/*; there are")]
#[case(&["--backend", "deny-all", "--base", BOXPROOF], 2, "it starts no program")]
fn what_cannot_be_measured_is_2(#[case] args: &[&str], #[case] code: i32, #[case] words: &str) {
    let place = Place::new();
    let scratch = place.arg("scratch");
    let ran = place.run(&[&["bench", "--scratch", &scratch][..], args].concat());
    has(&ran.exits(code).stderr, words);
}
