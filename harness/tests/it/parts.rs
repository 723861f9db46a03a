//! Parts of a run and runs again: shards that merge, the last failures, the first failure, the
//! slowest rows.

use serde_json::Value;

use crate::support::{DENIED, IMPOSSIBLE, Place, Ran, WORKS, has};

/// Cases of several kinds, one of them a table.
fn place() -> Place {
    let table = format!("{WORKS}rows: {{a: {{}}, b: {{}}, c: {{}}, d: {{}}, e: {{}}}}\n");
    Place::with(&[
        ("exec/works", WORKS),
        ("exec/table", &table),
        ("fs/denied", DENIED),
        ("fs/impossible", IMPOSSIBLE),
    ])
}

fn run(place: &Place, args: &[&str]) -> Ran {
    place.boxproof("run", &[&["--backend", "none", "--backend", "reference"][..], args].concat())
}

/// The members of a record that differ from run to run: times, nonces, what the probe saw at them, what
/// other programs of the host made meanwhile, and denial events, which have times and real paths.
const TRANSIENT: [&str; 9] = [
    "started",
    "duration_ms",
    "checksum",
    "observation",
    "nonce",
    "at_ms",
    "watched_ms",
    "strays",
    "events",
];

/// The lines of a record without [`TRANSIENT`] members.
fn lasting(place: &Place, name: &str) -> Vec<Value> {
    place.record(name).into_iter().map(without_transient).collect()
}

fn without_transient(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let lasting = members.into_iter().filter(|(key, _)| !TRANSIENT.contains(&key.as_str()));
            lasting.map(|(key, value)| (key, without_transient(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_transient).collect(),
        other => other,
    }
}

#[test]
fn shards_merge_to_the_whole_run() {
    let place = place();
    run(&place, &["--report", &place.arg("whole.ndjson")]).exits(1);
    let name = |index: usize| format!("part-{index}.ndjson");
    for index in 1..=4 {
        let shard = format!("{index}/4");
        let ran = run(&place, &["--shard", &shard, "--report", &place.arg(&name(index))]);
        // The page of a shard says of what it is a part; one that no case falls to has no page.
        if place.record(&name(index)).iter().any(|row| row["type"] == "case") {
            has(&ran.stdout, &format!("of 8 selected cases (shard {shard})"));
        } else {
            ran.exits(4);
        }
    }
    let parts: Vec<String> = (1..=4).map(|index| place.arg(&name(index))).collect();
    let mut args: Vec<&str> = vec!["report"];
    args.extend(parts.iter().map(String::as_str));
    let merged = place.arg("merged.ndjson");
    args.extend(["--merged", &merged]);
    place.run(&args).exits(0);
    for (merged, whole) in
        lasting(&place, "merged.ndjson").iter().zip(lasting(&place, "whole.ndjson"))
    {
        assert_eq!(merged, &whole);
    }
    assert_eq!(place.record("merged.ndjson").len(), place.record("whole.ndjson").len());

    // One is missing: nothing is merged, and a gate is red for that reason.
    let missing: Vec<&str> = args.iter().filter(|arg| **arg != parts[2]).copied().collect();
    has(&place.run(&missing).exits(2).stderr, "of 8 selected cases (shard 1/4");
    place.write("boxproof.toml", "[baseline]\nrecord = \"whole.ndjson\"\n");
    let policy = place.arg("boxproof.toml");
    let gate = ["gate", "--policy", &policy];
    let three = [&gate[..], &[&parts[0], &parts[1], &parts[3]]].concat();
    let red = place.run(&three);
    has(&red.exits(5).stdout, "red: evidence: the records of `none");
    assert_eq!(red.stdout.lines().count(), 2, "{}", red.stdout);
    let four: Vec<&str> = parts.iter().map(String::as_str).collect();
    let green = place.run(&[&gate[..], &four].concat());
    assert_eq!(green.exits(0).last_line(), "gate: green, 16 cases compared");
    let twice = [&gate[..], &four, &four].concat();
    has(&place.run(&twice).exits(5).stdout, "is in two records");
}

#[test]
fn a_part_that_is_none_is_2() {
    let ran = run(&place(), &["--shard", "5/4"]);
    has(&ran.exits(2).stderr, "write I/N, as in 2/4");
}

#[test]
fn what_failed_last_is_run_again() {
    let place = place();
    let first = place.arg("first.ndjson");
    place.boxproof("run", &["--backend", "none", "--report", &first]).exits(1);
    let (record, again) = (place.arg("again.ndjson"), &first);
    let ran = place
        .boxproof("run", &["--backend", "reference", "--last-failed", again, "--report", &record]);
    let rows = place.record("again.ndjson");
    let ids: Vec<&Value> =
        rows.iter().filter(|row| row["type"] == "case").map(|r| &r["id"]).collect();
    assert_eq!(ids, ["fs/denied", "fs/impossible"], "{}", ran.stdout);
    // A list narrows what filters select.
    let none = place.boxproof("run", &["--backend", "none", "--last-failed", again, "exec/**"]);
    assert_eq!(none.exits(4).last_line(), "0 cases: 0 pass");
    has(&none.stderr, "first.ndjson` has none of the 6 cases that are selected otherwise");
    let out = place.boxproof("run", &["--backend", "none", "fs/**", "!area:fs"]);
    has(&out.exits(4).stderr, "boxproof: no case is selected: `!area:fs` takes out all of the");
}

#[test]
fn the_first_failure_that_counts_ends_the_run() {
    let place = place();
    let record = place.arg("cut.ndjson");
    let denied = DENIED.replace("expect:", "level: should\nexpect:");
    place.write("corpus/fs/denied.yaml", &denied);
    let args = ["--backend", "none", "--jobs", "1", "--fail-fast", "--report", &record];
    place.boxproof("run", &args);
    let footer = |place: &Place| place.record("cut.ndjson").pop().unwrap();
    assert_eq!(footer(&place)["interrupted"], Value::Null, "it is not counted");
    place.write("corpus/fs/denied.yaml", DENIED);
    place.boxproof("run", &args).exits(1);
    assert_eq!(footer(&place)["interrupted"], "--fail-fast");
    has(
        &place.run(&["gate", "--policy", &policy(&place), &record]).exits(5).stdout,
        "--fail-fast ended after",
    );
}

fn policy(place: &Place) -> String {
    place.write("boxproof.toml", "[baseline]\nrecord = \"cut.ndjson\"\n");
    place.arg("boxproof.toml")
}

#[test]
fn the_slowest_rows_stand_before_the_last_line() {
    let place = place();
    let ran = place.boxproof("run", &["--backend", "none", "--durations", "2", "exec/**"]);
    let lines: Vec<&str> = ran.exits(0).stdout.lines().rev().take(4).collect();
    assert!(lines[0].starts_with("6 cases: 6 pass in ") && lines[0].ends_with(" s"), "{lines:?}");
    assert!(lines[1].is_empty() && lines[2].contains(" ms  none: exec/"), "{lines:?}");
    has(&ran.stdout, "\nslowest\n");
}
