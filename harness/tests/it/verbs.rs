//! Every other verb than `run`, and the help.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::support::{DENIED, IMPOSSIBLE, NOT_INSTALLED, Place, Ran, WORKS, as_we_are, has};
use rstest::rstest;
use serde_json::Value;

#[test]
fn list_prints_what_is_selected_for_people_and_programs() {
    let slow = format!("{WORKS}slow: true\n").replace("says hello", "says hello slowly");
    let place = Place::with(&[("exec/works", WORKS), ("exec/slow", &slow), ("fs/denied", DENIED)]);
    let ran = place.boxproof("list", &[]);
    assert_eq!(ran.exits(0).last_line(), "2 cases");
    has(&ran.stdout, "fs/denied   must    denied     Writing outside the workspace is refused.");
    assert_eq!(place.boxproof("list", &["--slow"]).exits(0).last_line(), "3 cases");
    let ran = place.boxproof("list", &["--format", "json", "area:fs"]);
    let listed: Value = serde_json::from_str(&ran.exits(0).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["id"], "fs/denied");
    assert_eq!(listed[0]["expect"], "denied");
    assert_eq!(listed[0]["needs"], serde_json::json!(["fs.write"]));
    assert_eq!(place.boxproof("list", &["nope"]).exits(4).last_line(), "0 cases");
}

#[test]
fn show_tells_what_a_case_asks() {
    let place = Place::with(&[("fs/denied", DENIED)]);
    let ran = place.boxproof("show", &["fs/denied"]);
    for part in [
        "fs/denied  (must)\n",
        "R-test-not: It does not work. (a test)",
        "probe write --path=$OUT/f --text=evil",
        "\"unchanged\":\"$OUT/f\"",
        "twin        {\"writable\":[\"$OUT\"]}",
    ] {
        has(&ran.exits(0).stdout, part);
    }
    assert_eq!(place.boxproof("show", &["fs/nope"]).exits(4).stdout, "");
}

#[test]
fn explain_tells_what_passes_what_fails_and_why_it_matters() {
    let place = Place::with(&[("fs/denied", DENIED)]);
    let ran = place.boxproof("explain", &["fs/denied"]);
    for part in [
        "fs/denied\nWriting outside the workspace is refused.\n",
        "requirement  R-test-not: It does not work. (a test)",
        "\narms\n  control      the act without a sandbox; it must succeed",
        "\npasses\n  the act itself is refused with EROFS or EACCES or EPERM; seen from outside: unchanged $OUT/f",
        "under-block  the effect happens: `unchanged $OUT/f` does not hold",
        "\nwhy it matters\n  A command that runs under this policy is not trusted.",
    ] {
        has(&ran.exits(0).stdout, part);
    }
    assert_eq!(place.boxproof("explain", &["fs/nope"]).exits(4).stdout, "");
}

#[test]
fn lint_is_silent_about_a_good_corpus() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    has(place.boxproof("lint", &[]).exits(0).last_line(), "0 findings in 2 cases");
    let empty = Place::new().boxproof("lint", &[]);
    has(empty.exits(4).last_line(), "0 findings in 0 cases");
    has(&empty.stderr, "no file below it is called *.yaml");
}

#[rstest]
#[case("is refused.", "should be refused", "fs/denied.yaml:1:10: purpose-sentence: ")]
#[case("EROFS, EACCES, EPERM", "ENOENT", "fs/denied.yaml:6:1: vague-reason: ")]
#[case("needs: [fs.write]\n", "", "fs/denied.yaml:5:1: no-claim: ")]
#[case("twin: {writable: [$OUT]}", "twin: {writable: []}", "fs/denied.yaml:7:1: twin-same: ")]
#[case(
    "probe: write",
    "probe: wriet",
    "fs/denied.yaml:5:14: probe-call: fs/denied: unknown probe `wriet`: did you mean `write`?"
)]
#[case(
    "text: evil",
    "txet: evil",
    "fs/denied.yaml:5:35: probe-call: fs/denied: probe write has no argument `txet`: did you mean `text`?"
)]
fn lint_finds_what_should_be_better(#[case] from: &str, #[case] to: &str, #[case] finding: &str) {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", &DENIED.replace(from, to))]);
    let ran = place.boxproof("lint", &[]);
    has(&ran.exits(2).stdout, finding);
}

#[test]
fn audit_is_green_where_every_case_can_fail() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let ran = place.boxproof("audit", &[]);
    assert_eq!(ran.exits(0).last_line(), "0 vacuous of 2");
    for idle in ["silent-success", "silent-failure", "silent-refusal", "echo"] {
        has(&ran.stdout, &format!("{idle}: 0 of 2 pass\n"));
    }
    // A forger that reads the act off its line repeats what `echo hello` would have said.
    has(&ran.stdout, "forger-allows: 1 of 2 pass on the record alone: exec 1\n");
    let ran = place.boxproof("audit", &["--most-forged", "0", "--knowing"]);
    has(&ran.exits(1).stdout, "knows-corpus: 2 of 2 pass: exec 1, fs 1; a second look");
    assert_eq!(place.boxproof("audit", &["nope"]).exits(4).last_line(), "0 vacuous of 0");
}

/// A shipped program has no fault points: not their names, and not the variable that selects them.
#[cfg(not(feature = "faults"))]
#[test]
fn a_program_without_faults_says_how_to_build_one_that_has_them() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let ran = place.boxproof("audit", &["--mutants"]);
    has(&ran.exits(2).stderr, "cargo build --release -p boxproof --features faults");
    let program = std::fs::read(env!("CARGO_BIN_EXE_boxproof")).unwrap();
    for name in
        ["REFBOX_FAULT", "plan.mask-readable", "receipts.no-anchor", "table:protected-names"]
    {
        let found = memchr::memmem::find(&program, name.as_bytes());
        assert_eq!(found, None, "{name}");
    }
}

/// Cases that prove nothing: each would be passed by a backend that does nothing, or by none.
#[rstest]
#[case::missing_directory(IMPOSSIBLE, "inconclusive control-failed instead of under-block")]
#[case::no_effect(
    "purpose: Reading is refused.\nrequirement: R-test-not\nneeds: [fs.write]\nfixture: {f: kept}
act: {probe: read, path: f}\nexpect: {denied: {errno: [EACCES]}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}\n",
    "inconclusive control-failed instead of under-block"
)]
#[case::no_control(
    "purpose: A file is not made.\nrequirement: R-test-not\nneeds: [fs.write]
act: {probe: create, path: $OUT/missing/f}\ncontrol: {none: nobody can}
expect: {denied: {errno: [ENOENT]}, oracle: [{absent: $OUT/missing/f}]}\ntwin: {none: nobody can}\n",
    "pass  instead of under-block"
)]
fn audit_names_what_proves_nothing(#[case] case: &str, #[case] instead: &str) {
    let place = Place::with(&[("exec/works", WORKS), ("fs/vacuous", case)]);
    let ran = place.boxproof("audit", &[]);
    has(&ran.exits(1).stdout, &format!("fs/vacuous on allow-all: {instead}"));
    assert_eq!(ran.last_line(), "1 vacuous of 2");
}

#[test]
fn doctor_tells_what_this_host_has() {
    let place = Place::new();
    let scratch = place.arg("scratch");
    let ran = place.run(&["doctor", "--scratch", &scratch]);
    for fact in ["kernel  ", "arch  ", "userns ", "ordinary_user "] {
        has(&ran.exits(0).stdout, fact);
    }
    let ran = place.run(&["doctor", "--json", "--scratch", &scratch]);
    let found: Value = serde_json::from_str(&ran.exits(0).stdout).unwrap();
    let who = if nix::unistd::geteuid().is_root() { "root" } else { "ordinary_user" };
    assert!(found["facts"].as_array().unwrap().contains(&Value::from(who)), "{found:#}");
    assert_eq!(found["host"]["os"], std::env::consts::OS);
}

#[rstest]
#[case("doctor", &[])]
#[case("run", &["net/tcp4", "--backend", "none"])]
#[case("repro", &["net/tcp4", "--backend", "none"])]
fn a_scratch_directory_that_cannot_be_made_is_named(#[case] verb: &str, #[case] args: &[&str]) {
    let place = Place::new();
    let scratch = format!("{}/below", place.write("file", "").display());
    let ran = place.run(&[&[verb], args, &["--scratch", &scratch]].concat());
    has(&ran.exits(3).stderr, &format!("scratch directory {scratch}: "));
    has(&ran.stderr, "; `--scratch DIR` names another");
}

#[test]
fn backends_are_listed_and_shown() {
    let place = Place::new();
    let ran = place.run(&["backend", "list"]);
    for name in ["reference ", "none ", "allow-all ", "deny-all ", "bubblewrap "] {
        assert!(ran.exits(0).stdout.lines().any(|line| line.starts_with(name)), "{}", ran.stdout);
    }
    place.write("jail.yaml", NOT_INSTALLED);
    let ran = place.run(&["backend", "show", &place.arg("jail.yaml")]);
    has(
        &ran.exits(0).stdout,
        "boxproof-no-such-program is not installed: install it (apt: jail-tools)",
    );
    has(&ran.stdout, "enforced  exec.exit_code ");
}

/// A manifest that claims one thing and keeps it, or does not.
fn one_claim(line: &str) -> (Place, String) {
    let place = Place::new();
    let manifest = format!(
        "name: one\nsummary: Claims one thing.\nprogram: sh\nargv: |\n  -c\n  {line}\n  sh\n  \
         {{{{ command }}}}\nclaims: {{exec.exit_code: enforced}}\n"
    );
    place.write("one.yaml", &manifest);
    let spec = place.arg("one.yaml");
    (place, spec)
}

#[rstest]
#[case("exec \"$@\"", "behaves", "one: 1 claims behave")]
#[case("\"$@\"; exit 0", "fails", "one: 0 claims behave")]
fn backend_check_measures_claims(#[case] line: &str, #[case] word: &str, #[case] last: &str) {
    let (place, spec) = one_claim(line);
    let scratch = place.arg("scratch");
    let args = [&["backend", "check", &spec, "--scratch", &scratch], as_we_are()];
    let ran = place.run(&args.concat());
    // Red in any case, since the manifest has no word about everything else.
    has(&ran.exits(1).stdout, &format!("exec.exit_code                 enforced  {word}\n"));
    has(&ran.stdout, "exec.argv                      none      no word about it\n");
    assert_eq!(ran.last_line(), last);
}

#[test]
fn backend_check_of_what_is_not_installed_is_3() {
    let place = Place::new();
    place.write("jail.yaml", NOT_INSTALLED);
    let ran = place.run(&["backend", "check", &place.arg("jail.yaml")]);
    has(&ran.exits(3).stderr, "boxproof-no-such-program is not installed");
}

// Help

#[rstest]
#[case("run")]
#[case("list")]
#[case("show")]
#[case("explain")]
#[case("matrix")]
#[case("repro")]
#[case("report")]
#[case("diff")]
#[case("expect")]
#[case("lint")]
#[case("audit")]
#[case("doctor")]
#[case("backend")]
fn every_verb_explains_itself(#[case] verb: &str) {
    let place = Place::new();
    let ran = place.run(&[verb, "--help"]);
    has(&ran.exits(0).stdout, &format!("Usage: boxproof {verb}"));
    let all = place.run(&["--help"]);
    has(&all.exits(0).stdout, &format!("\n  {verb} "));
}

#[test]
fn the_examples_of_the_help_are_understood() {
    let place = Place::new();
    let help = place.run(&["--help"]).stdout;
    let examples: Vec<_> = help.lines().filter_map(|l| l.strip_prefix("  boxproof ")).collect();
    assert!(examples.len() >= 5, "{help}");
    for example in examples {
        let words = example.split("  ").next().unwrap().replace('\'', "");
        let mut words: Vec<_> = words.split_whitespace().collect();
        // Words that clap does not understand it refuses before it comes to --help.
        words.push("--help");
        place.run(&words).exits(0);
    }
    has(&help, "Exit codes of run: 0 as expected");
}

#[test]
fn the_probe_and_the_reference_are_verbs_of_their_own() {
    let place = Place::new();
    has(&place.run(&["probe", "--list"]).exits(0).stdout, "write");
    let ran = place.run(&["reference", "capabilities"]);
    let said: Value = serde_json::from_str(&ran.exits(0).stdout).unwrap();
    assert_eq!(said["protocol"], 1);
}

/// Writes `run` as a record that is whole, for rows of any verdict.
fn rewrite(path: &str, run: &boxproof_reports::Run) {
    let mut record = boxproof_reports::RecordWriter::new(Vec::new(), &run.header).unwrap();
    run.rows.iter().for_each(|row| record.row(row).unwrap());
    std::fs::write(path, record.finish().unwrap().1).unwrap();
}

#[test]
fn judge_derives_the_verdicts_from_the_record_alone() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let record = place.arg("run.ndjson");
    place.boxproof("run", &["--backend", "none", "--report", &record]);
    // The record is all there is.
    std::fs::remove_dir_all(place.path("corpus")).unwrap();
    let judged = |code| place.run(&["judge", &record]).exits(code).stdout.clone();
    has(&judged(0), "0 differences in 2 judged rows (0 not run)");
    let bytes = std::fs::read(&record).unwrap();
    let run = boxproof_reports::record::read(bytes.as_slice()).unwrap();
    let changed = |change: fn(&mut boxproof_reports::CaseRow)| {
        let mut run = run.clone();
        change(&mut run.rows[1]);
        rewrite(&record, &run);
    };
    changed(|row| row.verdict = boxproof_reports::Verdict::OverBlock);
    has(&judged(1), "fs/denied on none: recorded over-block (oracle), judged under-block (oracle)");
    let now = place.arg("now.ndjson");
    let ran = place.run(&["judge", &record, "--report", &now]);
    has(&ran.exits(1).stdout, "1 differences in 2 judged rows");
    assert_eq!(std::fs::read(&now).unwrap(), bytes);
    has(&place.run(&["judge", &record, &now, "--report", &now]).exits(2).stderr, "name no other");
    changed(|row| row.arms[0].stdout.text = "forged".to_owned());
    has(&judged(1), "fs/denied on none: another arms");
    changed(|row| row.evidence.as_mut().unwrap().last = Value::Null);
    has(&place.run(&["judge", &record]).exits(2).stderr, "its observations cannot be read");
    changed(|row| row.evidence = None);
    has(&place.run(&["judge", &record]).exits(2).stderr, "without observations");
}

// Starters, schemas and the manual

#[test]
fn new_writes_files_that_load_at_once_and_overwrites_none() {
    let place = Place::new();
    let new = |args: &[&str]| {
        let mut command = place.command(&[&["new"], args].concat());
        Ran::from_output(&command.current_dir(place.path("")).output().unwrap())
    };
    assert_eq!(new(&["backend", "my-box"]).exits(0).stdout, "my-box.yaml\n");
    assert_eq!(new(&["case", "fs/rule"]).exits(0).stdout, "cases/fs/rule.yaml\n");
    new(&["case", "net/rule"]).exits(0);
    let lint = place.run(&["lint", "--cases", &place.arg("cases")]);
    has(lint.exits(0).last_line(), "0 findings in 2 cases");
    let shown = place.run(&["backend", "show", &place.arg("my-box.yaml")]);
    assert_eq!(shown.exits(0).stderr, "");
    let kept = std::fs::read_to_string(place.path("my-box.yaml")).unwrap();
    has(&new(&["backend", "my-box"]).exits(2).stderr, "my-box.yaml: is there already");
    has(&new(&["case", "fs/rule"]).exits(2).stderr, "rule.yaml: is there already");
    assert_eq!(std::fs::read_to_string(place.path("my-box.yaml")).unwrap(), kept);
    has(&new(&["backend", "../my-box"]).exits(2).stderr, "use a-z, 0-9 and -");
    has(&new(&["case", "rule"]).exits(2).stderr, "write AREA/NAME");
}

#[test]
fn schemas_and_capabilities_are_printed_from_the_program_alone() {
    let place = Place::new();
    has(&place.run(&["schema"]).exits(0).stdout, "\nmanifest              One backend, ");
    let printed = place.run(&["schema", "case"]);
    let schema: Value = serde_json::from_str(&printed.exits(0).stdout).unwrap();
    assert!(schema["$defs"]["Capability"]["enum"].as_array().unwrap().contains(&"fs.write".into()));
    has(&place.run(&["schema", "cas"]).exits(2).stderr, "no schema `cas`: did you mean `case`?");
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let listed = place.boxproof("capabilities", &["--format", "json"]);
    let listed: Value = serde_json::from_str(&listed.exits(0).stdout).unwrap();
    let find = |name: &str| listed.as_array().unwrap().iter().find(|row| row["name"] == name);
    assert_eq!(find("fs.write").unwrap()["cases"], 1);
    assert_eq!(find("net.none").unwrap()["cases"], 0);
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let place = Place::new();
    let script = place.run(&["completions", "bash"]);
    has(&script.exits(0).stdout, "--last-failed");
    assert_cmd::Command::new("bash").args(["-n"]).write_stdin(&*script.stdout).assert().success();
    has(&place.run(&["completions", "tcsh"]).exits(2).stderr, "invalid value 'tcsh'");
    has(&place.run(&["man", "run"]).exits(0).stdout, ".TH boxproof-run 1");
    has(&place.run(&["man", "rum"]).exits(2).stderr, "no verb `rum`: did you mean `run`?");
    place.run(&["man", "--out", &place.arg("man1")]).exits(0);
    for page in ["boxproof.1", "boxproof-run.1", "boxproof-backend-check.1"] {
        has(&std::fs::read_to_string(place.path("man1").join(page)).unwrap(), "boxproof");
    }
}

// The project file

/// The project file of the place: a backend and cases by path, from the file on.
const PROJECT: &str = "[run]\nbackends = [\"tools/none.yaml\"]\ncases = [\"corpus\", \"more\"]\n\
                       filters = [\"exec/**\"]\njobs = 1\n";

/// A manifest of no sandbox.
const BARE: &str = "name: bare\nsummary: No sandbox.\nkind: bare\n";

#[test]
fn run_alone_does_what_the_project_file_says_from_anywhere_in_the_repository() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let more = WORKS.replace("says hello", "says it again").replace("R-test", "R-fs-workspace");
    for (file, text) in
        [("boxproof.toml", PROJECT), ("tools/none.yaml", BARE), ("more/exec/more.yaml", &more)]
    {
        place.write(file, text);
    }
    for directory in [".git", "deep/er"] {
        std::fs::create_dir_all(place.path(directory)).unwrap();
    }
    let (scratch, record) = (place.arg("scratch"), place.arg("record.ndjson"));
    let at = |directory: &str, args: &[&str]| {
        let mut command = place.command(args);
        Ran::from_output(&command.current_dir(place.path(directory)).output().unwrap())
    };
    let run = ["run", "--scratch", &scratch, "--report", &record];
    let ran = at("deep/er", &[&run[..], as_we_are()].concat());
    assert_eq!(ran.exits(0).last_line(), "2 cases: 2 pass");
    has(&ran.stderr, "settings of ../../boxproof.toml");
    let again = place.record("record.ndjson")[1]["reproduce"].as_str().unwrap().to_owned();
    has(&again, "--backend ../../tools/none.yaml");
    has(&again, "--cases ../../corpus --cases ../../more");
    // What is typed takes precedence.
    assert_eq!(at("", &["list"]).exits(0).last_line(), "2 cases");
    assert_eq!(at("", &["list", "area:fs"]).exits(0).last_line(), "1 cases");
    let typed = at("", &["list", "--cases", "more"]);
    assert_eq!(typed.exits(0).last_line(), "1 cases");
    has(&at("", &["list", "--no-project", "net/tcp4"]).exits(0).stdout, "net/tcp4  must");
    // No repository, no project above.
    std::fs::remove_dir(place.path(".git")).unwrap();
    has(&at("deep/er", &["list", "net/tcp4"]).exits(0).stdout, "net/tcp4  must");
    let file = place.arg("boxproof.toml");
    let named = at("deep/er", &["list", "--project", &file]);
    assert_eq!(named.exits(0).last_line(), "2 cases");
    place.write("boxproof.toml", &PROJECT.replace("jobs", "job"));
    has(&at("", &["list"]).exits(2).stderr, "boxproof.toml:5: run.job: unknown field `job`");
    place.write("boxproof.toml", PROJECT);
    place.write("more/exec/works.yaml", &more);
    has(
        &at("", &["list"]).exits(2).stderr,
        "more/exec/works.yaml: corpus/exec/works.yaml is the same",
    );
    place.is_clean();
}

#[test]
fn a_project_file_of_another_account_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let place = Place::with(&[("exec/works", WORKS)]);
    place.write("boxproof.toml", PROJECT);
    place.write("tools/none.yaml", BARE);
    let file = place.path("boxproof.toml");
    std::os::unix::fs::chown(&file, Some(4321), None).unwrap();
    let list = || {
        let mut command = place.command(&["list"]);
        Ran::from_output(&command.current_dir(place.path("")).output().unwrap())
    };
    has(&list().exits(2).stderr, "it belongs to uid 4321, not to you");
    std::os::unix::fs::chown(place.path(""), Some(4321), None).unwrap();
    has(&list().exits(2).stderr, "it belongs to uid 4321, not to you");
    std::os::unix::fs::chown(&file, Some(0), None).unwrap();
    std::fs::create_dir_all(place.path("more")).unwrap();
    assert_eq!(list().exits(0).last_line(), "1 cases");
}

// Corpora of one's own

#[test]
fn everything_that_is_wrong_is_told_at_once_by_clickable_places() {
    let wrong = DENIED
        .replace("needs: [fs.write]", "needs: [fs.wrte]")
        .replace("level", "levl")
        .replace("fixture:", "levl: must\nfixture:");
    let place = Place::with(&[
        ("fs/one", &wrong),
        (
            "fs/two",
            &DENIED
                .replace("refused.", "denied.")
                .replace("R-test-not", "R-tset-not")
                .replace("$OUT/f: k", "$OTU/f: k"),
        ),
        ("fs/three", &DENIED.replace("probe: write", "probe: wriet")),
    ]);
    place.write("corpus/requirements/own.yaml", "\u{feff}R-own: {text: It works., source: s}\n");
    let mut command = place.command(&["lint", "--cases", "corpus"]);
    let ran = Ran::from_output(&command.current_dir(place.path("")).output().unwrap());
    for part in [
        "corpus/fs/one.yaml:3:9: needs[0]: ",
        "corpus/fs/one.yaml:4:1: levl: unknown field `levl`: did you mean `level`?",
        "corpus/fs/two.yaml:2:14: requirement: unknown requirement R-tset-not: near it are R-test",
        "corpus/fs/two.yaml:4:11: fixture: unknown variable $OTU: did you mean $OUT?",
        "corpus/fs/three.yaml:5:14: probe-call: fs/three: unknown probe `wriet`: did you mean",
    ] {
        has(&ran.exits(2).stderr, part);
    }
    assert_eq!(ran.stderr.lines().count(), 6, "{}", ran.stderr);
    // Requirements of its own are covered, others are covered elsewhere.
    for name in ["fs/one", "fs/two", "fs/three"] {
        place.write(
            &format!("corpus/{name}.yaml"),
            &DENIED.replace("refused.", &format!("refused ({name}).")),
        );
    }
    let ran = place.boxproof("lint", &[]);
    has(&ran.exits(2).stdout, "own.yaml:1:1: coverage: R-own lacks a case where it is allowed");
    has(&ran.stdout, "coverage: R-test lacks a case where it is allowed");
    assert_eq!(ran.last_line().split(' ').next(), Some("3"), "{}", ran.stdout);
}

#[test]
fn known_failures_of_the_built_in_corpus_are_not_unused_in_another() {
    let place = Place::with(&[("exec/works", WORKS)]);
    place.write("box.yaml", BARE);
    let row = |case: &str| {
        format!("- {{case: {case}, verdict: under-block, signature: oracle, reason: R.}}\n")
    };
    place.write("box.known.yaml", &row("net/tcp4"));
    let ran = place.boxproof("run", &["--backend", &place.arg("box.yaml")]);
    assert_eq!(ran.exits(0).stderr, "");
    place.write("box.known.yaml", &row("net/no-such-case"));
    let ran = place.boxproof("run", &["--backend", &place.arg("box.yaml")]);
    has(&ran.exits(1).stderr, "known failure net/no-such-case: no case it matches was judged");
}
