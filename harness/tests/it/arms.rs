//! Whole runs of small corpora without a sandbox: workers, sweep and scratch as they really are.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use rstest::rstest;

const PROGRAM: &str = env!("CARGO_BIN_EXE_boxproof");

/// A corpus of its own, and everything that a run of it may touch.
struct Corpus {
    directory: tempfile::TempDir,
}

impl Corpus {
    fn new(cases: &[(&str, &str)]) -> Self {
        let corpus = Self { directory: tempfile::tempdir_in(crate::support::base()).unwrap() };
        let write = |path: &str, text: &str| {
            let path = corpus.path("cases").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("requirements/r.yaml", "R-x: {text: It works., source: a test}\n");
        for (name, text) in cases {
            let text = text.replace("$TEST", &corpus.path("").to_string_lossy());
            let head = "purpose: It is tested.\nrequirement: R-x\n";
            write(&format!("area/{name}.yaml"), &format!("{head}{text}"));
        }
        corpus
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self) -> Command {
        self.command_of(Path::new(PROGRAM))
    }

    fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(["run", "--backend", "none", "--format", "ndjson", "--cases"]);
        command.arg(self.path("cases")).arg("--scratch").arg(self.path("scratch"));
        command
    }

    /// Runs it: case → verdict, reason, message. Checks in every case that nothing is left.
    fn run(&self, mut command: Command) -> BTreeMap<String, [String; 3]> {
        let output = command.output().unwrap();
        let rows = String::from_utf8(output.stdout).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let rows =
            rows.lines().map(|line| -> serde_json::Value { serde_json::from_str(line).unwrap() });
        let cases = rows.filter(|row| row["type"] == "case").map(|row| {
            let word = |name: &str| row[name].as_str().unwrap().to_owned();
            (word("id"), ["verdict", "reason", "message"].map(word))
        });
        let cases: BTreeMap<_, _> = cases.collect();
        assert!(!cases.is_empty(), "{said}");
        self.nothing_is_left();
        cases
    }

    fn nothing_is_left(&self) {
        assert!(!self.path("scratch").exists(), "the scratch directory is left");
        assert_eq!(carrying(self.directory.path()), Vec::<String>::new());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&*self.directory.path().to_string_lossy()));
    }
}

/// Lists command lines of living processes with `path` in them.
fn carrying(path: &Path) -> Vec<String> {
    let path = path.to_string_lossy();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&*path)).collect()
}

fn background(how: &str, stdio: &str, expect: &str) -> String {
    format!(
        "act: {{probe: background, how: {how}, stdio: {stdio}, heartbeat: beat, tag: $NONCE}}\n{expect}\n"
    )
}

#[rstest]
fn whoever_outlives_a_run_is_found_and_ended(
    #[values("plain", "setsid", "double-fork")] how: &str,
    #[values("close", "hold")] stdio: &str,
) {
    let asked = "expect: {contained: {}, oracle: [{no_survivors: {}}]}\ntwin: {none: it is a test}";
    let plain = "expect: {allowed: {}, compare: [exit]}";
    let corpus = Corpus::new(&[
        ("asked", &background(how, stdio, asked)),
        ("not-asked", &background(how, stdio, plain)),
        ("nobody", "act: {sh: 'true'}\nexpect: {allowed: {}, oracle: [{no_survivors: {}}]}\n"),
    ]);
    let found = corpus.run(corpus.command());
    assert_eq!(found["area/asked"][..2], ["under-block", "oracle"], "{found:?}");
    assert_eq!(found["area/not-asked"][..2], ["leak", "left-behind"], "{found:?}");
    assert_eq!(found["area/nobody"][..2], ["pass", ""], "{found:?}");
}

#[test]
fn a_worker_that_dies_once_costs_a_second_try_and_always_its_case_alone() {
    let corpus = Corpus::new(&[
        (
            "once",
            "act: {sh: 'mkdir $TEST/once 2>/dev/null && kill -9 $PPID; true'}\nexpect: {allowed: {}}\n",
        ),
        ("always", "act: {sh: 'kill -9 $PPID'}\nexpect: {allowed: {}}\n"),
        ("beside-a", "act: {sh: 'echo a'}\nexpect: {allowed: {}}\n"),
        ("beside-b", "act: {sh: 'echo b'}\nexpect: {allowed: {}}\n"),
    ]);
    let mut command = corpus.command();
    command.args(["--jobs", "2"]);
    let found = corpus.run(command);
    assert!(corpus.path("once").exists());
    let always = &found["area/always"];
    assert_eq!(always[..2], ["error", "harness"], "{found:?}");
    assert!(always[2].contains("its worker died") && always[2].contains("SIGKILL"), "{always:?}");
    for name in ["once", "beside-a", "beside-b"] {
        assert_eq!(found[&format!("area/{name}")][0], "pass", "{name}: {found:?}");
    }
}

#[test]
fn a_worker_that_dies_takes_its_act_along() {
    // The act goes on after its worker's death, in a session of its own.
    let act = "act: {sh: 'setsid \"$PROBE\" --nonce $NONCE hold & kill -9 $PPID'}\nexpect: {allowed: {}}\n";
    let corpus = Corpus::new(&[("orphans", act)]);
    let found = corpus.run(corpus.command());
    assert_eq!(found["area/orphans"][..2], ["error", "harness"], "{found:?}");
}

#[test]
fn cases_that_share_host_state_are_never_run_at_once() {
    let act = "exclusive: [tmp]\nact: {sh: 'mkdir $TEST/held || : >> $TEST/clash; sleep 0.1; rmdir $TEST/held; true'}\nexpect: {allowed: {}}\n";
    let corpus = Corpus::new(&[("a", act), ("b", act), ("c", act)]);
    let mut command = corpus.command();
    command.args(["--jobs", "6"]);
    for (case, [verdict, _, message]) in corpus.run(command) {
        assert_eq!(verdict, "pass", "{case}: {message}");
    }
    // A second try would hide it in the verdicts.
    assert!(!corpus.path("clash").exists(), "two of them met");
}

#[rstest]
#[case::as_whoever_runs_the_tests(false)]
#[case::as_an_ordinary_user(true)]
fn locked_directories_do_not_keep_the_scratch_directory_alive(#[case] ordinary: bool) {
    let fixture = "fixture: {d/e/f: x, d/e: {dir: {}, mode: '0000'}, d: {dir: {}, mode: '0000'}}\n";
    let act =
        format!("{fixture}act: {{sh: 'mkdir -p x/y && chmod 0 x'}}\nexpect: {{allowed: {{}}}}\n");
    let corpus = Corpus::new(&[("locked", &act)]);
    let mut command = corpus.command();
    if ordinary && nix::unistd::Uid::effective().is_root() {
        let directory = corpus.directory.path();
        nix::unistd::chown(directory, Some(1500.into()), Some(1500.into())).unwrap();
        let program = corpus.path("boxproof");
        // The build directory may be closed to others. Another process copies: a process that a
        // test forks meanwhile would hold the copy open for writing, and it could not be executed.
        assert!(Command::new("cp").arg(PROGRAM).arg(&program).status().unwrap().success());
        command = corpus.command_of(&program);
        command.gid(1500).uid(1500);
    }
    let found = corpus.run(command);
    assert_eq!(found["area/locked"][0], "pass", "{found:?}");
}

#[test]
fn an_act_that_takes_too_long_teaches_nothing() {
    let corpus = Corpus::new(&[(
        "slow",
        "timeout_ms: 300\nact: {sh: 'sleep 600 & wait'}\nexpect: {allowed: {}}\n",
    )]);
    let found = corpus.run(corpus.command());
    assert_eq!(found["area/slow"][..2], ["inconclusive", "control-failed"], "{found:?}");
}

#[test]
fn a_private_namespace_masks_for_itself_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    fs::write(&file, "text").unwrap();
    let output = Command::new(PROGRAM)
        .arg("__private-ns")
        .arg(&file)
        .args(["--", "/bin/sh", "-c", "wc -c < \"$0\"; echo $PPID; kill -9 $$"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(71) {
        // Hosts may forbid user namespaces; then it must say so.
        assert!(said.contains("private namespace: "), "{said}");
    } else {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n", "{said}");
        assert_eq!(output.status.code(), Some(137));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
}

#[test]
fn a_private_namespace_without_a_command_is_no_answer_of_an_act() {
    Command::new(PROGRAM).args(["__private-ns", "/absent"]).assert().code(71);
}

/// Each waits until all of them are there: none is held up by another one that waits.
#[test]
fn what_waits_does_not_wait_for_what_waits() {
    const ALL: usize = 60;
    let text = format!(
        "waits_ms: 1000\nact: {{sh: ': > $TEST/here/$NONCE; \
         until [ $(ls $TEST/here | wc -l) -ge {ALL} ]; do sleep 0.2; done'}}\n\
         expect: {{allowed: {{}}}}\ncontrol: {{none: it waits there just as well}}\ntimeout_ms: 60000\n"
    );
    let names: Vec<String> = (0..ALL).map(|number| format!("case-{number}")).collect();
    let cases: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &*text)).collect();
    let corpus = Corpus::new(&cases);
    fs::create_dir(corpus.path("here")).unwrap();
    let rows = corpus.run(corpus.command());
    let passed = rows.values().filter(|[verdict, ..]| verdict == "pass").count();
    assert_eq!(passed, ALL, "{rows:?}");
}

/// Two cases hold both slots until a third one was run.
#[test]
fn what_takes_long_is_taken_to_wait() {
    let case = |act: &str| {
        format!(
            "act: {{sh: '{act}'}}\nexpect: {{allowed: {{}}}}\n\
             control: {{none: it takes as long there}}\ntimeout_ms: 60000\n"
        )
    };
    let (one, other) = (case("cat $TEST/one"), case("cat $TEST/other"));
    let last = case(": > $TEST/one; : > $TEST/other");
    let corpus = Corpus::new(&[("a", &one), ("b", &other), ("c", &last)]);
    for name in ["one", "other"] {
        nix::unistd::mkfifo(&corpus.path(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    let mut command = corpus.command();
    command.args(["--jobs", "2"]);
    for (case, [verdict, _, message]) in corpus.run(command) {
        assert_eq!(verdict, "pass", "{case}: {message}");
    }
}
