//! `boxproof run` as its users and their scripts meet it: exit codes, streams, records.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::support::{
    BOXPROOF, DENIED, IMPOSSIBLE, NOT_INSTALLED, Place, Ran, WORKS, as_we_are, has,
};
use rstest::rstest;

/// A manifest that claims nothing.
const CLAIMS_NOTHING: &str = "name: humble
summary: Runs the command as it is and claims nothing.
program: env
argv: '{{ command }}'
files: [{path: '{{ state }}/policy', content: '{{ policy | json }}'}]
";

// Exit codes

#[test]
fn as_expected_is_0() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let ran = place.boxproof("run", &["--backend", "none"]);
    assert_eq!(ran.exits(0).last_line(), "1 cases: 1 pass");
}

#[test]
fn an_unexpected_verdict_is_1() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let ran = place.boxproof("run", &["--backend", "none"]);
    assert_eq!(ran.exits(1).last_line(), "2 cases: 1 pass, 1 under-block");
    has(&ran.stdout, "fs/denied");
    has(&ran.stdout, "`unchanged $OUT/f` does not hold");
}

#[rstest]
#[case("should", &[], 0)]
#[case("should", &["--strict"], 1)]
#[case("may", &[], 0)]
#[case("may", &["--strict"], 1)]
#[case("must", &[], 1)]
fn below_must_a_failure_counts_only_when_strict(
    #[case] level: &str,
    #[case] options: &[&str],
    #[case] code: i32,
) {
    let denied = format!("{DENIED}level: {level}\n");
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", &denied)]);
    let ran = place.boxproof("run", &[&["--backend", "none"], options].concat());
    assert_eq!(ran.exits(code).last_line(), "2 cases: 1 pass, 1 under-block");
}

#[test]
fn what_was_not_learnt_is_3() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/impossible", IMPOSSIBLE)]);
    let ran = place.boxproof("run", &["--backend", "none"]);
    assert_eq!(ran.exits(3).last_line(), "2 cases: 1 pass, 1 inconclusive");
    has(&ran.stdout, "control-failed");
}

#[rstest]
#[case("nope/**")]
#[case("area:net")]
#[case("level:may")]
fn nothing_selected_is_4(#[case] filter: &str) {
    let place = Place::with(&[("exec/works", WORKS)]);
    let ran = place.boxproof("run", &["--backend", "none", filter]);
    assert_eq!(ran.exits(4).last_line(), "0 cases: 0 pass");
    has(&ran.stderr, &format!("filter `{filter}` matches no case"));
}

#[test]
fn a_backend_that_claims_nothing_is_4() {
    let place = Place::with(&[("fs/denied", DENIED)]);
    place.write("humble.yaml", CLAIMS_NOTHING);
    let humble = place.arg("humble.yaml");
    let ran = place.boxproof("run", &["--backend", &humble]);
    assert_eq!(ran.exits(4).last_line(), "1 cases: 0 pass, 1 unsupported");
    let ran = place.boxproof("run", &["--backend", &humble, "--all"]);
    assert_eq!(ran.exits(1).last_line(), "1 cases: 0 pass, 1 under-block");
}

#[test]
fn what_is_not_claimed_is_asked_by_a_plain_case_alone() {
    let place = Place::new();
    place.write("humble.yaml", CLAIMS_NOTHING);
    let humble = place.arg("humble.yaml");
    let ran = place.run(&["run", "--backend", &humble, "--gaps", "net/tcp4", "net/tcp6"]);
    assert_eq!(ran.exits(4).last_line(), "2 cases: 0 pass, 1 gap, 1 unsupported");
}

#[test]
fn a_backend_that_is_not_installed_is_3_unless_it_may_be() {
    let place = Place::with(&[("exec/works", WORKS)]);
    place.write("jail.yaml", NOT_INSTALLED);
    let jail = place.arg("jail.yaml");
    let run = |args: &[&str]| place.boxproof("run", &[&["--backend", &jail], args].concat());
    let ran = run(&[]);
    has(
        &ran.exits(3).stderr,
        "boxproof-no-such-program is not installed: install it (apt: jail-tools)",
    );
    assert_eq!(run(&["--backend", "none"]).exits(3).last_line(), "1 cases: 1 pass");
    let ran = run(&["--backend", "none", "--allow-missing"]);
    assert_eq!(ran.exits(0).last_line(), "1 cases: 1 pass");
    // Nothing was run at all, which is never a success.
    run(&["--allow-missing"]).exits(4);
}

/// A manifest that confines nothing, is told of no policy, and claims to hold writes.
const UNREAD: &str = "name: box\nsummary: B.\nprogram: env\nclaims: all\nargv: '{{ command }}'\n";

#[test]
fn what_a_manifest_never_reads_is_told_once_and_unsupported() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    place.write("box.yaml", UNREAD);
    let ran = place.boxproof("run", &["--backend", &place.arg("box.yaml")]);
    assert_eq!(ran.exits(0).last_line(), "2 cases: 1 pass, 1 unsupported");
    let told =
        ran.stderr.matches("box.yaml never reads policy.mode, policy.readable, policy.writable, ");
    assert_eq!(told.count(), 1, "{}", ran.stderr);
}

#[rstest]
#[case::missing("", "`exits` map to nothing")]
#[case::named(
    "exits: {setup_failed: [{exit: 1, stderr_prefix: 'box: '}]}\n",
    "it exited with 1, which the manifest's `exits.setup_failed` maps to this"
)]
fn what_exits_made_of_an_end_is_told(#[case] exits: &str, #[case] says: &str) {
    let place = Place::with(&[("fs/denied", DENIED)]);
    let argv = "argv: |\n  -c\n  echo 'box: no namespace' >&2; exit 1\n";
    let base = UNREAD.replace("program: env", "program: sh");
    let base = base.replace("argv: '{{ command }}'\n", argv);
    place.write("box.yaml", &format!("{base}{exits}{}", crate::support::fakes::TOLD));
    let ran = place.boxproof("run", &["--backend", &place.arg("box.yaml")]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    has(&words, says);
}

#[test]
fn a_relative_program_is_the_neighbour_of_its_manifest() {
    let place = Place::with(&[("exec/works", WORKS)]);
    place.write("tools/box.yaml", &UNREAD.replace("program: env", "program: ./run"));
    let run = || place.boxproof("run", &["--backend", &place.arg("tools/box.yaml")]);
    has(&run().exits(3).stderr, "tools/run is not installed: there is no such file");
    place.program("tools/run", "#!/bin/sh\nexec \"$@\"\n");
    assert_eq!(run().exits(0).last_line(), "1 cases: 1 pass");
    let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(place.path("tools/run"), plain).unwrap();
    has(&run().exits(3).stderr, "tools/run is not executable: chmod +x");
}

#[test]
fn a_directory_that_the_account_cannot_enter_is_named() {
    let Some(account) = crate::support::account().filter(|_| nix::unistd::geteuid().is_root())
    else {
        return;
    };
    let place = Place::with(&[("exec/works", WORKS)]);
    place.program("closed/run", "#!/bin/sh\nexec \"$@\"\n");
    place.write("box.yaml", &UNREAD.replace("program: env", "program: closed/run"));
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(place.path(""), mode(0o755)).unwrap();
    std::fs::set_permissions(place.path("closed"), mode(0o700)).unwrap();
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let ran = place.run(&["run", "--cases", &cases, "--backend", &spec, "--user", &account.name]);
    let said = format!(
        "account {} (uid {}) cannot enter {}",
        account.name,
        account.uid,
        place.arg("closed")
    );
    has(&ran.exits(3).stderr, &said);
}

#[test]
fn a_shipped_backend_is_looked_up_in_path() {
    let place = Place::with(&[("exec/works", WORKS)]);
    std::fs::create_dir(place.path("bin")).unwrap();
    let (cases, scratch) = (place.arg("corpus"), place.arg("scratch"));
    let args = ["run", "--backend", "bubblewrap", "--cases", &cases, "--scratch", &scratch];
    let run = |more: &[&str]| {
        let mut command = place.command(&[&args, more, as_we_are()].concat());
        let ran = Ran::from_output(&command.env("PATH", place.path("bin")).output().unwrap());
        place.is_clean();
        ran
    };
    has(&run(&[]).exits(3).stderr, "bwrap is not installed: install it (");
    let ran = run(&["--allow-missing", "--backend", "none"]);
    assert_eq!(ran.exits(0).last_line(), "1 cases: 1 pass");
}

#[rstest]
#[case(&[], "Usage: boxproof <COMMAND>")]
#[case(&["rum"], "unrecognized subcommand 'rum'")]
#[case(&["run", "--jbos", "1"], "unexpected argument '--jbos'")]
#[case(&["run", "--jobs", "many"], "invalid value 'many'")]
#[case(&["run", "--jobs", "0"], "at least one")]
#[case(&["audit", "--jobs", "0"], "at least one")]
#[case(&["run", "--base-url", "javascript:alert(1)//"], "https:// or http://")]
#[case(&["run", "levl:must"], "there is no key `levl:`")]
#[case(&["run", "needs:fs.wrote"], "unknown capability `fs.wrote`")]
#[case(&["run", "--backend", "none", "--backend", "none"], "backend none is named twice")]
#[case(&["run", "--backend", "boxproof-no-such-program"], "no backend `boxproof-no-such-program`")]
#[case(&["run", "--backend", "no-such-manifest.yaml"], "no-such-manifest.yaml: cannot be read")]
#[case(&["run", "--cases", "no-such-directory"], "no-such-directory")]
#[case(&["run", "--format", "html5"], "invalid value 'html5'")]
#[case(&["show"], "required arguments were not provided")]
#[case(&["report"], "required arguments were not provided")]
#[case(&["report", "no-such-record.ndjson"], "no-such-record.ndjson: No such file")]
#[case(&["backend", "show", "boxproof-no-such-program"], "no backend")]
fn wrong_usage_is_2(#[case] args: &[&str], #[case] message: &str) {
    let ran = Place::new().run(args);
    has(&ran.exits(2).stderr, message);
    assert_eq!(ran.stdout, "");
}

#[cfg(target_os = "linux")]
#[rstest]
#[case(&["probe", "--list"])]
#[case(&["list"])]
fn output_that_cannot_be_written_is_3(#[case] args: &[&str]) {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(BOXPROOF).args(args).stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("standard output: "), "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}

// Corpora and manifests that do not load

#[rstest]
#[case(
    "purpose:",
    "purpos:",
    "fs/denied.yaml:1:1: purpos: unknown field `purpos`: did you mean `purpose`?"
)]
#[case(
    "{$OUT/f: kept}",
    "{$OTU/f: kept}",
    "fs/denied.yaml:4:11: fixture: unknown variable $OTU: did you mean $OUT?"
)]
#[case(
    "requirement: R-test-not",
    "requirement: R-nope",
    "fs/denied.yaml:2:14: requirement: unknown"
)]
#[case(
    "needs: [fs.write]",
    "needs: [fs.wrote]",
    "fs/denied.yaml:3:9: needs[0]: unknown capability `fs.wrote`: did you mean `fs.write`?"
)]
#[case(", oracle: [{unchanged: $OUT/f}]", "", "expect: denied has no host oracle")]
#[case("{denied: {errno: [EROFS, EACCES, EPERM]}", "{denied: {}", "denied names no reason")]
#[case("twin: {writable: [$OUT]}", "", "fs/denied.yaml:6:1: expect: denied has no twin")]
#[case("probe: write", "probe: write, sh: x", "fs/denied.yaml:5:1: act: an act is exactly one of")]
fn a_case_that_does_not_load_is_2_with_file_and_line(
    #[case] from: &str,
    #[case] to: &str,
    #[case] message: &str,
) {
    let broken = DENIED.replace(from, to);
    assert_ne!(broken, DENIED);
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", &broken)]);
    for verb in ["run", "list", "lint", "audit"] {
        let ran = place.boxproof(verb, &[]);
        has(&ran.exits(2).stderr, message);
        assert_eq!(ran.stdout, "");
    }
}

#[rstest]
#[case("claims: all", "claim: all", "jail.yaml:6: claim: unknown field `claim`")]
#[case("{{ command }}", "{{ comand }}", "jail.yaml:5: argv: there is no `comand`")]
#[case("claims: all", "claims: {fs.wrote: enforced}", "unknown capability `fs.wrote`")]
fn a_manifest_that_does_not_load_is_2_with_file_and_line(
    #[case] from: &str,
    #[case] to: &str,
    #[case] message: &str,
) {
    let place = Place::with(&[("exec/works", WORKS)]);
    place.write("jail.yaml", &NOT_INSTALLED.replace(from, to));
    let ran = place.boxproof("run", &["--backend", &place.arg("jail.yaml")]);
    has(&ran.exits(2).stderr, message);
}

// Streams

/// The start of every colour and every movement of the cursor.
const ESCAPE: char = '\u{1b}';

#[test]
fn a_pipe_gets_plain_text_and_silence_until_the_end() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let ran = place.boxproof("run", &["--backend", "none"]);
    assert!(!ran.exits(1).stdout.contains(ESCAPE), "{:?}", ran.stdout);
    assert!(!ran.stdout.contains('\r'), "{:?}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn colour_comes_when_forced_and_never_against_no_color() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let (cases, scratch) = (place.arg("corpus"), place.arg("scratch"));
    let args = ["run", "--backend", "none", "--cases", &cases, "--scratch", &scratch];
    let run = |variables: &[&str]| {
        let mut command = place.command(&args);
        command.envs(variables.iter().map(|name| (name, "1")));
        let ran = Ran::from_output(&command.output().unwrap());
        place.is_clean();
        ran
    };
    assert!(run(&["CLICOLOR_FORCE"]).exits(0).stdout.contains(ESCAPE));
    assert!(!run(&["CLICOLOR_FORCE", "NO_COLOR"]).exits(0).stdout.contains(ESCAPE));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let (cases, record) = (place.arg("corpus"), place.arg("record.ndjson"));
    let scratch = place.arg("scratch");
    let line = "\"$0\" run --backend none --cases \"$1\" --scratch \"$2\" --report \"$3\" | true; \
                echo ${PIPESTATUS[0]}";
    let mut bash = assert_cmd::Command::new("bash");
    bash.args(["-c", line, BOXPROOF, &cases, &scratch, &record]);
    bash.assert().success().stdout("0\n").stderr("");
    place.is_clean();
}

// Records

#[test]
fn a_record_is_rendered_later_as_it_was_at_once() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let (ran, rows) = place.rows(&["--backend", "none"]);
    assert_eq!(rows.len(), 2);
    let record = place.arg("record.ndjson");
    let later = place.run(&["report", &record]);
    // But for how long it took, which the last line of a run says.
    let body = |ran: &Ran| ran.stdout.trim_end().rsplit_once('\n').unwrap().0.to_owned();
    assert_eq!(body(later.exits(0)), body(ran.exits(1)));
    assert_eq!(later.last_line(), ran.last_line());
    assert_eq!(later.stderr, "");
    let markdown = place.run(&["report", "--format", "markdown", &record]);
    has(&markdown.exits(0).stdout, "| ");
    has(&markdown.stdout, "fs/denied");
    let html = place.run(&["report", "--format", "html", &record]);
    has(&html.exits(0).stdout, "</html>");
    has(&place.run(&["report", "--format", "ndjson", &record]).exits(2).stderr, "already NDJSON");
}

#[test]
fn a_record_without_a_case_shows_nothing() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let record = place.arg("record.ndjson");
    place.boxproof("run", &["nothing/**", "--backend", "none", "--report", &record]).exits(4);
    has(&place.run(&["report", &record]).exits(4).stderr, "the records have no case");
}

#[test]
fn ndjson_on_stdout_is_the_record() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let (ran, _) = place.rows(&["--backend", "none", "--format", "ndjson"]);
    let record = std::fs::read_to_string(place.path("record.ndjson")).unwrap();
    assert_eq!(ran.exits(0).stdout, record);
    let types: Vec<_> =
        place.record("record.ndjson").into_iter().map(|l| l["type"].clone()).collect();
    assert_eq!(types, ["header", "case", "footer"]);
}

#[rstest]
#[case::no_footer(|text: &str| text.lines().take(2).map(|l| format!("{l}\n")).collect(), "has no footer")]
#[case::half_a_line(|text: &str| text[..text.len() / 2].to_owned(), "line ")]
#[case::another_verdict(|text: &str| text.replacen("under-block", "over-block", 1), "footer")]
#[case::a_row_less(|text: &str| without_line(text, 1), "footer")]
#[case::no_header(|text: &str| without_line(text, 0), "no header")]
#[case::nothing(|_: &str| String::new(), "the record is empty")]
fn a_damaged_record_is_2(#[case] damage: fn(&str) -> String, #[case] message: &str) {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    place.rows(&["--backend", "none"]).0.exits(1);
    let whole = std::fs::read_to_string(place.path("record.ndjson")).unwrap();
    let damaged = damage(&whole);
    assert_ne!(damaged, whole);
    place.write("damaged.ndjson", &damaged);
    let ran = place.run(&["report", &place.arg("damaged.ndjson")]);
    has(&ran.exits(2).stderr, message);
    has(&ran.stderr, "damaged.ndjson: ");
    assert_eq!(ran.stdout, "");
}

fn without_line(text: &str, number: usize) -> String {
    let lines = text.lines().enumerate().filter(|(at, _)| *at != number);
    lines.map(|(_, line)| format!("{line}\n")).collect()
}

#[test]
fn a_record_that_cannot_be_written_is_2() {
    let place = Place::with(&[("exec/works", WORKS)]);
    let nowhere = place.arg("no/such/directory/record.ndjson");
    let ran = place.boxproof("run", &["--backend", "none", "--report", &nowhere]);
    has(&ran.exits(2).stderr, "No such file or directory");
}

/// For every name of a backend and every place of the cases: the line a failure prints, pasted into
/// a shell, fails in the same way.
#[rstest]
#[case("corpus", "none")]
#[case("corpus", "box.yaml")]
#[case("it's a corpus", "it's a box.yaml")]
fn a_reproduce_line_reproduces(#[case] corpus: &str, #[case] backend: &str) {
    let place = Place::with(&[("fs/denied", &format!("{DENIED}rows: {{one: {{}}}}\n"))]);
    let manifest = CLAIMS_NOTHING.replace("humble", "another-name");
    place.write("box.yaml", &manifest);
    place.write("it's a box.yaml", &manifest);
    let cases = place.path(corpus);
    if !cases.exists() {
        std::fs::rename(place.path("corpus"), &cases).unwrap();
    }
    let cases = cases.to_str().unwrap();
    let backend = if backend == "none" { backend.to_owned() } else { place.arg(backend) };
    let (scratch, record) = (place.arg("scratch"), place.arg("record.ndjson"));
    let run = ["run", "--backend", &backend, "--all", "--cases", cases, "--scratch", &scratch];
    place.run(&[&run[..], &["--report", &record], as_we_are()].concat()).exits(1);
    let row = place.record("record.ndjson")[1].clone();
    let line = row["reproduce"].as_str().unwrap().to_owned();

    let again = place.arg("again.ndjson");
    let line = format!("{line} --scratch \"$0\" --report \"$1\"");
    let path =
        format!("{}:/usr/bin:/bin", std::path::Path::new(BOXPROOF).parent().unwrap().display());
    let mut shell = assert_cmd::Command::new("sh");
    shell.args(["-c", &line, &scratch, &again]).env("PATH", path);
    shell.assert().code(1);
    place.is_clean();
    let second = place.record("again.ndjson")[1].clone();
    for key in ["id", "backend", "verdict", "reason", "message", "reproduce"] {
        assert_eq!(second[key], row[key], "{line}");
    }
}
