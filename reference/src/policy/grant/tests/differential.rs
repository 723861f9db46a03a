//! The parser against real shells, over random lines: dash and bash can parse every line that it
//! understands, and every program that either starts is one that it found.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::super::parse::parse;
use super::super::word::{ShellWord, SimpleCommand, WordExpansion};

/// The pieces of lines. Words have no slash: nothing but the recorders below can be started.
const PIECES: [&str; 71] = [
    "git",
    "one",
    "two",
    "add",
    "-f",
    "x",
    "12",
    "2",
    "=",
    "A=1",
    "b=c",
    "'q r'",
    "'",
    "\"d e\"",
    "\"",
    "\\",
    "\\\n",
    "\n",
    "\n",
    " ",
    " ",
    " ",
    " ",
    " ",
    "\t",
    ";",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "(",
    ")",
    "{",
    "}",
    "!",
    "#",
    "#c",
    "$x",
    "\"$x\"",
    "${x}",
    "$(one)",
    "\"$(two x)\"",
    "$(",
    "$",
    "`",
    "*",
    "?",
    "[a]",
    "~",
    "{a,b}",
    ">",
    ">f",
    "2>&1",
    "<",
    "<f",
    "<<E",
    "<<'E'",
    "\nE\n",
    "if ",
    " then ",
    "; fi",
    "; do ",
    "; done",
    "for x in ",
    "{ ",
    "; }",
    "else ",
    "if",
    "a",
    "b",
];

fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.as_slice()), 1..14)
        .prop_map(|pieces| pieces.concat())
}

fn check(cases: u32, property: impl Fn(&str) -> Result<(), TestCaseError>) {
    let config = Config {
        cases,
        failure_persistence: None,
        max_global_rejects: 1 << 20,
        ..Config::default()
    };
    let understood = Cell::new(0);
    let mut runner = TestRunner::new(config);
    let result = runner.run(&line(), |line| {
        prop_assume!(parse(&line).is_ok());
        understood.set(understood.get() + 1);
        property(&line)
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(understood.get() >= cases);
}

fn parses(shell: &str, line: &str) -> bool {
    let mut shell = Command::new(shell);
    // Without the blank a line may be an option.
    shell
        .args(["-n", "-c", &format!(" {line}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell.status().unwrap().success()
}

#[test]
fn what_is_understood_shells_parse() {
    check(600, |line| {
        for shell in ["dash", "bash"] {
            prop_assert!(parses(shell, line), "{shell} does not parse {line:?}");
        }
        Ok(())
    });
}

#[test]
fn what_shells_start_was_found() {
    let bin = tempfile::tempdir().unwrap();
    for name in ["git", "one", "two"] {
        let at = bin.path().join(name);
        // One call writes all of it at once, so that concurrent records do not mix.
        let says = "printf '%s\\0' \"${0##*/}\" \"$@\" ';end;' >> \"$LOG\"; echo out";
        // Another process writes it: one that some test forks meanwhile would hold it open for
        // writing, and it could not be executed.
        let make = "printf '#!/usr/bin/dash\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut writer = Command::new("sh");
        assert!(writer.args(["-c", make, "sh", says]).arg(&at).status().unwrap().success());
    }
    let seen = Cell::new(0);
    check(600, |line| {
        let found = parse(line).unwrap();
        for shell in ["/usr/bin/dash", "/usr/bin/bash"] {
            for started in record(shell, line, bin.path()) {
                seen.set(seen.get() + 1);
                let one = found.iter().any(|simple| fits(simple, &started));
                prop_assert!(one, "{shell} starts {started:?} in {line:?}: {found:?}");
            }
        }
        Ok(())
    });
    assert!(seen.get() > 100, "only {} programs were started", seen.get());
}

/// Returns the argument vectors of the programs that `shell` starts for `line`, in a directory with
/// one file.
fn record(shell: &str, line: &str, bin: &Path) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let (work, log) = (directory.path().join("work"), directory.path().join("log"));
    fs::create_dir(&work).unwrap();
    fs::write(work.join("f"), "").unwrap();
    fs::write(&log, "").unwrap();
    let ended = Command::new(shell)
        .args(["-c", &format!(" {line}\nwait")])
        .current_dir(&work)
        .env_clear()
        .envs([("PATH", bin.as_os_str()), ("LOG", log.as_os_str()), ("x", "v w".as_ref())])
        .stdin(Stdio::null())
        .output();
    ended.unwrap();
    let text = fs::read_to_string(log).unwrap();
    let runs = text.split("\0;end;\0").filter(|run| !run.is_empty());
    runs.map(|run| run.split('\0').map(str::to_owned).collect()).collect()
}

/// Whether `simple` can become `argv`.
fn fits(simple: &SimpleCommand, argv: &[String]) -> bool {
    matches(&simple.words, argv)
}

fn matches(words: &[ShellWord], argv: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return argv.is_empty() };
    let begins = |arg: &String| arg.starts_with(&word.text);
    match word.rest {
        WordExpansion::Nothing => argv.first() == Some(&word.text) && matches(rest, &argv[1..]),
        WordExpansion::OneWord => argv.first().is_some_and(begins) && matches(rest, &argv[1..]),
        WordExpansion::Names => (1..=argv.len())
            .any(|count| argv[..count].iter().all(begins) && matches(rest, &argv[count..])),
        WordExpansion::Words => (0..=argv.len()).any(|count| {
            let begins = word.text.is_empty() || argv[..count].first().is_some_and(begins);
            begins && matches(rest, &argv[count..])
        }),
    }
}
