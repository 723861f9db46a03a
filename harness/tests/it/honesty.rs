//! The mutant kit of the judge: backends that lie, fail or misbehave in one way each. Every one of
//! them gets exactly the verdict and the reason it deserves, and none a pass on a denial that it
//! did not enforce.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use crate::support::fakes::{self, confined, fake, verdict};
use crate::support::{BOXPROOF, Place, Ran, as_we_are};
use rstest::rstest;
use serde_json::Value;

/// The corpus that kills the fakes.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/corpus");

/// Runs it, as far as `filters` select it, against `spec`.
fn run(place: &Place, spec: &str, filters: &[&str]) -> (Ran, Vec<Value>) {
    fakes::run(place, spec, CORPUS, filters)
}

/// The one row of `case` against the fake called `name`.
fn row_of(name: &str, case: &str) -> (Place, Ran, Value) {
    fakes::row_of(name, CORPUS, case)
}

/// The exit code of a run with this one verdict.
fn exit_of(verdict: &str) -> i32 {
    match verdict.split(' ').next() {
        Some("pass") => 0,
        // One case alone that taught nothing: the backend was not judged at all.
        Some("inconclusive" | "error" | "unsupported") => 4,
        _ => 1,
    }
}

#[rstest]
// Nothing was run: no act, no word, no exit code.
#[case("does-nothing", "fs/outside", "inconclusive no-record")]
#[case("does-nothing", "fs/outside-in-words", "contract not-refused")]
#[case("does-nothing", "exec/seven", "contract exit")]
#[case("does-nothing", "exec/stdout", "contract stdout")]
// Denied without looking at the policy: the twin tells.
#[case("denies-everything", "fs/outside", "inconclusive no-record")]
#[case("denies-everything", "fs/outside-in-words", "over-block twin")]
#[case("denies-everything", "exec/stdout", "over-block exit")]
#[case("refuses-everything", "fs/outside", "contract policy-refused")]
#[case("refuses-everything", "exec/stdout", "over-block policy-refused")]
// A native program that cannot say a policy is like a manifest that calls it inexpressible.
#[case("says-unsupported", "fs/outside", "unsupported inexpressible")]
#[case("says-unsupported", "exec/stdout", "unsupported inexpressible")]
// A record is a hint, no proof, and none without the word that the probe's own file tells.
#[case("forges", "fs/outside", "inconclusive untrusted-record")]
#[case("forges-over", "fs/outside", "under-block oracle")]
#[case("forges-besides", "fs/outside", "under-block oracle")]
// Dying is no denial.
#[case("crashes", "fs/outside", "inconclusive no-record")]
#[case("crashes", "fs/outside-in-words", "inconclusive no-reason")]
#[case("crashes", "exec/seven", "contract exit")]
#[case("aborts", "exec/seven", "contract exit")]
#[case("aborts", "fs/outside", "under-block oracle")]
// Its claims differ from its acts.
#[case("claims-too-much", "fs/outside", "under-block oracle")]
#[case("claims-too-much", "env/secret", "under-block oracle")]
#[case("claims-too-much", "proc/daemon", "under-block oracle")]
// The contract: exit code and streams are the command's.
#[case("always-zero", "exec/seven", "contract exit")]
#[case("swallows-stderr", "exec/stderr", "contract stream")]
#[case("swallows-stderr", "exec/stdout", "pass")]
#[case("talks", "exec/stdout", "contract stdout")]
// Declared noise is an excuse, except where the streams themselves are the question.
#[case("talks-openly", "exec/stdout", "contract stdout")]
#[case("talks-openly", "exec/seven", "pass")]
// Where processes cannot be seen, none is found, and nothing is learnt from that.
#[case("guest", "proc/daemon", "unsupported inexpressible")]
#[case("guest", "exec/seven", "pass")]
// A sandbox that could not be built has denied nothing, in spite of its own words.
#[case("cannot-set-up", "fs/outside-in-words", "error harness")]
#[case("cannot-start", "fs/outside-in-words", "error setup-failed")]
#[case("cannot-start", "fs/outside", "error setup-failed")]
fn a_fake_gets_what_it_deserves(#[case] name: &str, #[case] case: &str, #[case] wanted: &str) {
    let (_place, ran, row) = row_of(name, case);
    assert_eq!(verdict(&row), wanted, "{row:#}");
    ran.exits(exit_of(wanted));
}

/// One rule of the reference is spoilt at a time: the case about that rule sees the fault, and a
/// neighbour does not, so that the rule is seen and not the spoiling.
#[rstest]
#[case("leaks-environment", "env/secret", "under-block oracle", "fs/outside")]
#[case("matches-prefixes", "fs/beside", "under-block oracle", "fs/outside")]
#[case("opens-sometimes", "fs/outside-often", "under-block oracle", "exec/seven")]
#[case("drops-result", "exec/seven", "contract result", "")]
#[case("garbles-result", "exec/seven", "contract result", "")]
#[case("contradicts-itself", "exec/seven", "contract result", "exec/stdout")]
#[case("says-nothing-started", "exec/seven", "contract result", "")]
fn a_spoilt_reference_is_found_out(
    #[case] name: &str,
    #[case] case: &str,
    #[case] wanted: &str,
    #[case] neighbour: &str,
) {
    let (_place, ran, row) = row_of(name, case);
    assert_eq!(verdict(&row), wanted, "{row:#}");
    ran.exits(1);
    if !neighbour.is_empty() {
        let (_place, ran, row) = row_of(name, neighbour);
        assert_eq!(verdict(&row), "pass", "{row:#}");
        ran.exits(0);
    }
}

#[test]
fn an_honest_backend_passes_everything_that_kills_the_fakes() {
    let (place, spec) = fake("honest");
    let (ran, rows) = run(&place, &spec, &[]);
    let verdicts: Vec<_> =
        rows.iter().map(|row| format!("{} {}", row["id"], verdict(row))).collect();
    assert!(rows.iter().all(|row| row["verdict"] == "pass"), "{verdicts:#?}");
    assert_eq!(rows.len(), 10, "{verdicts:#?}");
    ran.exits(0);
}

#[test]
fn who_hangs_is_given_up_once_and_for_all() {
    let (place, ran, row) = row_of("hangs", "fs/outside-briefly");
    assert_eq!(verdict(&row), "inconclusive timed-out", "{row:#}");
    assert_eq!(confined(&row)["exit"], "timeout");
    let count = std::fs::read_to_string(place.path("state/count")).unwrap();
    assert_eq!(count, "up\n", "it was started again after a time-out");
    ran.exits(4);
}

/// Kibibytes of memory that a run may map while it is flooded, worker by worker.
const BOUND: &str = "400000";

#[test]
fn a_flood_ends_by_time_out_in_bounded_memory() {
    let (place, spec) = fake("floods");
    let (corpus, scratch) = (CORPUS, place.arg("scratch"));
    let record = place.arg("record.ndjson");
    let mut shell = assert_cmd::Command::new("sh");
    let bounded = format!("ulimit -v {BOUND}; exec \"$@\"");
    shell.args(["-c", &bounded, "sh", BOXPROOF, "run", "fs/outside-briefly", "--backend", &spec]);
    shell.args(["--cases", corpus, "--scratch", &scratch, "--report", &record]).args(as_we_are());
    let ran = Ran::from_output(&shell.output().unwrap());
    place.is_clean();
    let rows = place.record("record.ndjson");
    assert_eq!(verdict(&rows[1]), "inconclusive timed-out", "{:#}", rows[1]);
    let stdout = &confined(&rows[1])["stdout"];
    assert_eq!(stdout["truncated"], true);
    assert!(stdout["text"].as_str().unwrap().starts_with("y\ny\n"), "{stdout}");
    ran.exits(4);
}

#[rstest]
#[case("leaves-file", "leak residue")]
#[case("leaves-file-listed", "pass")]
fn what_is_left_is_a_leak_unless_the_manifest_says_so(#[case] name: &str, #[case] wanted: &str) {
    let (_place, ran, row) = row_of(name, "exec/stdout");
    assert_eq!(verdict(&row), wanted, "{row:#}");
    ran.exits(exit_of(wanted));
}

#[rstest]
#[case("leaves-daemon")]
#[case("leaves-holder")]
fn who_leaves_a_process_leaks_and_it_is_ended(#[case] name: &str) {
    let (place, ran, row) = row_of(name, "exec/stdout");
    assert_eq!(verdict(&row), "leak left-behind", "{row:#}");
    assert_eq!(confined(&row)["exit"]["code"], 0, "nobody waits for a held stream");
    assert_eq!(confined(&row)["stdout"]["text"], "words\n");
    let pids = std::fs::read_to_string(place.path("state/pids")).unwrap();
    for pid in pids.lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "{pid} still runs");
    }
    ran.exits(1);
}

#[rstest]
#[case("talks-at-capabilities", "its answer is no claim")]
#[case("hangs-at-capabilities", "does not answer: given up")]
fn who_does_not_answer_capabilities_is_not_run(#[case] name: &str, #[case] message: &str) {
    let (place, spec) = fake(name);
    let ran = place.boxproof("run", &["--backend", &spec]);
    ran.exits(2);
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
    assert!(ran.stderr.contains(name), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

/// Without a twin a sandbox that denies everything passes, too. That is why such passes are counted
/// apart, and why a case without a twin says its reason.
#[test]
fn a_pass_without_a_twin_is_told_apart() {
    let (_place, ran, row) = row_of("honest", "fs/outside-briefly");
    assert_eq!((verdict(&row).as_str(), &row["twin"]), ("pass", &Value::from("none")));
    assert_eq!(ran.last_line(), "1 cases: 1 pass (1 passes without twin)");
}

/// The cases that tell what a backend leaves from what the act or the case itself makes.
const LEFT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/left");

#[rstest]
// An empty entry there is the backend's own, one with content the act's.
#[case("keeps-placeholders", "fs/held-killed", "leak residue")]
#[case("claims-too-much", "fs/held-killed", "under-block oracle")]
#[case("keeps-placeholders", "fs/copied", "leak residue")]
#[case("removes-placeholders", "fs/copied", "pass")]
#[case("claims-too-much", "fs/copied", "under-block oracle")]
// An entry that the case itself has made is no leak, and a refusal is reported all the same.
#[case("refuses-everything", "fs/prepared", "over-block policy-refused")]
#[case("claims-too-much", "fs/prepared", "pass")]
// An entry that is not compared has another name each time.
#[case("claims-too-much", "fs/by-time", "pass")]
#[case("leaves-file", "fs/by-time", "leak residue")]
fn what_is_left_is_put_down_to_who_made_it(
    #[case] name: &str,
    #[case] case: &str,
    #[case] wanted: &str,
) {
    let (_place, ran, row) = fakes::row_of(name, LEFT, case);
    assert_eq!(verdict(&row), wanted, "{row:#}");
    ran.exits(exit_of(wanted));
}

const WITHOUT_TWIN: [&str; 2] = ["fs/outside-briefly", "fs/outside-often"];

fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap_or_default()
}

/// A backend that confines nothing passes no denial and no containment that has a twin.
#[rstest]
#[case("does-nothing")]
#[case("denies-everything")]
#[case("forges")]
#[case("forges-over")]
#[case("crashes")]
#[case("aborts")]
#[case("claims-too-much")]
#[case("always-zero")]
#[case("swallows-stderr")]
#[case("talks")]
#[case("cannot-set-up")]
#[case("cannot-start")]
#[case("refuses-everything")]
fn no_fake_passes_a_denial(#[case] name: &str) {
    let (place, spec) = fake(name);
    let (_, rows) = run(&place, &spec, &["area:fs", "area:env"]);
    let with_twin: Vec<_> = rows.iter().filter(|row| !WITHOUT_TWIN.contains(&id(row))).collect();
    assert_eq!(with_twin.len(), 4, "{rows:#?}");
    let passed: Vec<_> = with_twin.iter().filter(|row| row["verdict"] == "pass").collect();
    assert!(passed.is_empty(), "{passed:#?}");
}
