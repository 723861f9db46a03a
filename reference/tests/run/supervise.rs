//! Signals, timeouts, and that nothing outlives a run.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{
    BUBBLEWRAP, Done, NAMESPACES, ORDINARY, TestBed, UNCONFINED, is_alive, wait_until,
};

/// The grace between TERM and KILL.
const GRACE: Duration = Duration::from_secs(5);
/// Makes the shell wait without a child, which would die of the same signal and be announced.
const OPEN: &str = "rm -f pipe; mkfifo pipe; exec 3<>pipe";
const HOLD: &str = "read line <&3";

/// Starts `line` and waits until it made the file `ready`.
pub(crate) fn start(bed: &TestBed, line: &str, run: &Value) -> Child {
    bed.write_request(&json!({}), json!({"shell": line}), run);
    let mut refbox = bed.refbox();
    refbox.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = refbox.process_group(0).spawn().unwrap();
    wait_until("the command is ready", || bed.ws("ready").exists());
    fs::remove_file(bed.ws("ready")).unwrap();
    child
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

pub(crate) fn finish(bed: &TestBed, child: Child) -> Done {
    bed.done(&child.wait_with_output().unwrap())
}

#[rstest]
#[case(Signal::SIGTERM, 143, "SIGTERM")]
#[case(Signal::SIGINT, 130, "SIGINT")]
#[case(Signal::SIGHUP, 129, "SIGHUP")]
fn a_signal_reaches_the_command_whose_handler_runs(
    #[case] signal: Signal,
    #[case] code: i32,
    #[case] name: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = format!(
        "trap 'echo trapped; exit 0' {}; {OPEN}; : > ready; {HOLD}",
        name.trim_start_matches("SIG")
    );
    let child = start(&bed, &line, &json!({}));
    send(&child, signal);
    let done = finish(&bed, child);
    assert_eq!(done.code, Some(code));
    assert_eq!(done.out, "trapped\n");
    assert_eq!(done.err, format!("process interrupted by signal {name}\n"));
    assert_eq!(done.result["interrupted_by"], name);
    assert_eq!(done.result["exit_code"], code);
    assert_eq!(done.result["success"], false);
}

#[rstest]
fn a_command_that_ignores_term_is_killed_after_the_grace(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "trap '' TERM; : > ready; while :; do sleep 0.1; done";
    let child = start(&bed, line, &json!({}));
    let begun = Instant::now();
    send(&child, Signal::SIGTERM);
    let done = finish(&bed, child);
    assert!(begun.elapsed() >= GRACE, "killed early: {:?}", begun.elapsed());
    assert_eq!(done.code, Some(143));
    assert_eq!(done.result["interrupted_by"], "SIGTERM");
}

#[rstest]
fn a_timeout_ends_the_command_and_is_annotated(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = format!("trap 'echo trapped; exit 3' TERM; {OPEN}; {HOLD}");
    let command = json!({"shell": line});
    let done = bed.go(&json!({}), command, &json!({"timeout_ms": 300}));
    assert_eq!(done.code, Some(124), "{}", done.err);
    assert_eq!((done.out.as_str(), done.err.as_str()), ("trapped\n", "process timed out\n"));
    assert_eq!(done.result["timed_out"], true);
    assert_eq!(done.result["exit_code"], Value::Null);
    assert_eq!(done.result["annotations"], json!(["process timed out"]));
    assert!(done.result["duration_ms"].as_u64().unwrap() >= 300);
}

#[rstest]
#[case::silent("", "process timed out")]
#[case::text("printf boom >&2; ", "boom\nprocess timed out")]
#[case::line("echo boom >&2; ", "boom\n\nprocess timed out")]
fn a_captured_timeout_is_annotated_in_stderr(
    #[case] before: &str,
    #[case] stderr: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = format!("{before}exec sleep 600");
    let run = json!({"capture": true, "timeout_ms": 500});
    let done = bed.go(&json!({}), json!({"shell": line}), &run);
    assert_eq!(done.code, Some(124));
    assert_eq!(done.result["stderr"], stderr);
}

#[rstest]
fn a_timeout_that_is_not_reached_changes_nothing(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.go(&json!({}), json!({"shell": "exit 4"}), &json!({"timeout_ms": 600_000}));
    assert_eq!(done.expect(4).result["timed_out"], false);
}

#[rstest]
#[case::background("sh -c 'while :; do sleep 0.1; done' NONCE &")]
#[case::ignores_term("sh -c 'trap \"\" TERM HUP; while :; do sleep 0.1; done' NONCE &")]
#[case::own_session("setsid sh -c 'while :; do sleep 0.1; done' NONCE &")]
#[case::daemon("(setsid sh -c 'sh -c \"while :; do sleep 0.1; done\" NONCE &' &)")]
fn nothing_outlives_the_command(
    #[case] line: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = line.replace("NONCE", &bed.nonce());
    // The survivor is there before the command ends.
    let look =
        format!("{line}\nuntil grep -qs {0} /proc/[0-9]*/cmdline; do :; done; exit 5", probe(&bed));
    bed.write_request(&json!({}), json!({"shell": look}), &json!({}));
    let child = bed.refbox().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    bed.done(&output).expect(5);
    assert!(!is_alive(&bed.nonce()), "a process outlived the run");
}

/// A pattern that finds the nonce but is not found itself.
fn probe(bed: &TestBed) -> String {
    bed.nonce().replacen("nonce", "[n]once", 1)
}

#[rstest]
fn killing_the_launcher_takes_the_tree_along(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = format!(
        "setsid sh -c 'while :; do sleep 0.1; done' {0} & : > ready; \
             while :; do sleep 0.1; done",
        bed.nonce()
    );
    let mut child = start(&bed, &line, &json!({}));
    wait_until("the descendant runs", || is_alive(&bed.nonce()));
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    wait_until("the tree is dead", || !is_alive(&bed.nonce()));
}

#[rstest]
fn a_helper_that_is_killed_is_no_clean_end(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = format!(": > ready; sh -c 'while :; do sleep 0.1; done' {}", bed.nonce());
    let child = start(&bed, &line, &json!({}));
    let id = child.id();
    let helpers = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let helper: i32 = helpers.trim().parse().expect("one helper");
    kill(Pid::from_raw(helper), Signal::SIGKILL).unwrap();
    let done = finish(&bed, child);
    assert_eq!(done.code, Some(137), "{}", done.result);
    assert_eq!(done.result["started"], true);
    assert_eq!(done.result["success"], false);
    assert_eq!(done.result["error"]["kind"], "wait");
    assert!(!is_alive(&bed.nonce()));
}

#[rstest]
fn a_terminal_interrupt_to_the_whole_group_still_runs_the_handler(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    // Long enough for a helper that dies of the same signal to take the command along.
    let slow = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo trapped; exit 0";
    let line = format!("trap '{slow}' INT; {OPEN}; : > ready; {HOLD}");
    let child = start(&bed, &line, &json!({}));
    kill(Pid::from_raw(-(child.id() as i32)), Signal::SIGINT).unwrap();
    let done = finish(&bed, child);
    assert_eq!((done.code, done.out.as_str()), (Some(130), "trapped\n"));
}
