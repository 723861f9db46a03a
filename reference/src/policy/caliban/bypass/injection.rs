//! Properties of bypassed lines, of any composition: a shell starts only programs of the list for
//! them, and writes to no file. The shell's own trace is the witness.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// The pieces of generated lines: the named program, another one, and the syntax of shells.
const PIECES: [&str; 44] = [
    "git",
    "git",
    "git",
    " ",
    " ",
    " ",
    "\t",
    "status",
    "x",
    "touch",
    "touch x",
    "git touch",
    "=1",
    "A=1 ",
    "env ",
    "exec ",
    "eval ",
    ".",
    "/",
    "-",
    "*",
    "?",
    "{",
    "}",
    "!",
    "#",
    "~",
    "'",
    "\"",
    "\\",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "$(touch x)",
    "`touch x`",
    "${IFS}",
    ">x",
    "<x",
    "(",
    ")",
    "\n",
    "\r",
];
const PATTERNS: [&str; 4] = ["git", "git*", "git *", "git* *"];
/// The number of bypassed lines that are tested.
const WANTED: u32 = 200;

/// Returns the commands that a shell runs for `line` in `directory`, where `git` is the only program,
/// and its messages.
fn run(line: &str, directory: &Path) -> (Vec<String>, String) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-xc", line]).current_dir(directory.join("cwd")).env_clear();
    shell.env("PATH", directory.join("bin")).env("PS4", "+ ").stdin(Stdio::null());
    let said = String::from_utf8(shell.output().unwrap().stderr).unwrap();
    let traced = said.lines().filter_map(|line| line.strip_prefix('+'));
    let ran = traced.map(|line| line.trim_start_matches('+').trim_start().to_owned()).collect();
    (ran, said)
}

/// Returns whether the shell reported `program`, or a name that begins with it, as not found: only
/// a program can be missing, a variable cannot, and `git.` is no name of a variable.
fn is_missing(program: &str, said: &str) -> bool {
    let named = format!(": {program}");
    said.lines().any(|line| line.contains(&named) && line.ends_with(": not found"))
}

#[test]
fn a_line_that_leaves_the_sandbox_runs_one_program_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["bin", "cwd"] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
    }
    symlink("/bin/true", directory.path().join("bin/git")).unwrap();
    let bypassed = (vec(select(&PIECES[..]), 1..7), select(&PATTERNS[..]))
        .prop_map(|(pieces, pattern)| (pieces.concat(), pattern.to_owned()))
        .prop_filter("it leaves the sandbox", |(line, pattern)| {
            let patterns = std::slice::from_ref(pattern);
            let readings = [SourcePrecedence::Adr, SourcePrecedence::Head].into_iter();
            readings
                .map(|reading| BypassPatterns { patterns, reading })
                .any(|bypass| bypassed_by(bypass, line).is_some())
        });
    let config = Config {
        cases: WANTED,
        max_local_rejects: 10_000_000,
        failure_persistence: None,
        ..Config::default()
    };
    let checked = TestRunner::new(config).run(&bypassed, |(line, pattern)| {
        let (ran, said) = run(&line, directory.path());
        prop_assert!(ran.len() <= 1, "{pattern:?} lets {line:?} run {ran:?}");
        let named = ran.iter().all(|ran| ran.trim_start_matches('\'').starts_with("git"));
        prop_assert!(named, "{pattern:?} lets {line:?} run {ran:?}");
        let program = ran.first().and_then(|ran| ran.split(' ').next()).unwrap_or_default();
        let set = program.contains('=') && !is_missing(program, &said);
        prop_assert!(!set, "{pattern:?} lets {line:?} set {program}");
        let left = std::fs::read_dir(directory.path().join("cwd")).unwrap().count();
        prop_assert_eq!(left, 0, "{:?} lets {:?} write", pattern, line);
        Ok(())
    });
    checked.unwrap();
}

#[test]
fn the_trace_shows_a_second_command() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["bin", "cwd"] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
    }
    assert_eq!(run("git x; git y", directory.path()).0.len(), 2);
    let (set, said) = run("git=1 touch x", directory.path());
    assert_eq!(set.len(), 1);
    assert!(!is_missing("git=1", &said), "{said}");
    for (line, program) in [("git.=1", "git.=1"), ("git'A=1 '", "gitA=1")] {
        let (_, said) = run(line, directory.path());
        assert!(is_missing(program, &said), "{said}");
    }
}
