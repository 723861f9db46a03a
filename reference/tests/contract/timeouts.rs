//! The end of a command by timeout.

use std::time::Duration;

use boxproof_reference::process::{GRACE, ProcessRequest, Unsandboxed, run_process};
use rstest::rstest;

use crate::bed::{TestBed, UNCONFINED, is_alive, wait_until};
use crate::{run, timed};

/// Far more than an end without a grace takes, far less than the grace.
const SOON: Duration = Duration::from_millis(4500);
/// Makes the shell wait without a child, which would die of the same signal and be announced.
const OPEN: &str = "mkfifo pipe; exec 3<>pipe";
const HOLD: &str = "read line <&3";

#[rstest]
#[case::e7_silent("", "process timed out")]
#[case::e8_text("printf boom >&2; ", "boom\nprocess timed out")]
#[case::e9_line("echo boom >&2; ", "boom\n\nprocess timed out")]
fn a_timeout_is_annotated_once_on_a_line_of_its_own(#[case] before: &str, #[case] stderr: &str) {
    let result = run(timed(&format!("{before}echo part; exec sleep 600"), 1000));
    assert_eq!(result.stderr_text(), stderr);
    // E10: what was written before is kept, and stdout is not annotated.
    assert_eq!(result.stdout_text(), "part\n");
    assert_eq!((result.exit_code, result.success, result.timed_out), (None, false, true));
    assert_eq!((result.signal, result.interrupted_by, result.error), (None, None, None));
    // E13: the end follows at once.
    assert!(result.duration >= Duration::from_secs(1), "{:?}", result.duration);
    assert!(result.duration < SOON, "{:?}", result.duration);
}

#[rstest]
#[case::e11_zero(0)]
#[case::e11_three(3)]
fn a_command_that_ends_well_in_its_grace_has_timed_out_all_the_same(#[case] code: i32) {
    let bed = TestBed::new(UNCONFINED);
    let line = format!("trap 'echo trapped; exit {code}' TERM; {OPEN}; {HOLD}");
    let result = run(ProcessRequest { current_dir: Some(bed.ws("")), ..timed(&line, 1000) });
    assert_eq!((result.exit_code, result.success), (None, false));
    assert_eq!(result.stdout_text(), "trapped\n");
    assert_eq!(result.stderr_text(), "process timed out");
}

#[test]
fn e12_a_command_that_ignores_term_is_killed_after_the_grace() {
    let bed = TestBed::new(UNCONFINED);
    let line = format!(
        "trap '' TERM; sh -c 'while :; do sleep 0.1; done' {} & while :; do sleep 0.1; done",
        bed.nonce()
    );
    let result = run(timed(&line, 300));
    let least = GRACE + Duration::from_millis(300);
    assert!(result.duration >= least, "killed early: {:?}", result.duration);
    assert!(result.duration < least + SOON, "killed late: {:?}", result.duration);
    assert_eq!((result.exit_code, result.stderr_text().as_str()), (None, "process timed out"));
    assert!(!is_alive(&bed.nonce()));
}

#[test]
fn e14_a_child_that_dies_with_its_group_costs_no_grace() {
    let result = run(timed("sleep 600; true", 300));
    assert!(result.duration < SOON, "{:?}", result.duration);
    assert_eq!(result.exit_code, None);
}

#[rstest]
#[case::holds_the_pipes("setsid sh -c 'while :; do sleep 0.1; done' NONCE &")]
#[case::redirected("setsid sh -c 'while :; do sleep 0.1; done' NONCE >/dev/null 2>&1 &")]
fn e20_a_session_of_its_own_is_no_way_out(#[case] line: &str) {
    let bed = TestBed::new(UNCONFINED);
    let line = line.replace("NONCE", &bed.nonce());
    let result = run(timed(&format!("{line} exec sleep 600"), 300));
    assert!(!is_alive(&bed.nonce()), "a process outlived the run");
    assert!(result.duration < SOON, "{:?}", result.duration);
}

#[test]
fn e15_a_timeout_of_zero_is_refused() {
    let bed = TestBed::new(UNCONFINED);
    let request = ProcessRequest { current_dir: Some(bed.ws("")), ..timed(": > made", 0) };
    let error = run_process(request, &Unsandboxed).unwrap_err();
    let why = "execution failed: a timeout of 0 leaves no time; use None for no timeout";
    assert_eq!(error.to_string(), why);
    assert!(!bed.ws("made").exists());
}

#[test]
fn a_command_is_not_ended_early() {
    let bed = TestBed::new(UNCONFINED);
    let line = "trap ': > trapped; exit' TERM; : > ready; while :; do sleep 0.01; done";
    let request = ProcessRequest { current_dir: Some(bed.ws("")), ..timed(line, 700) };
    let call = std::thread::spawn(move || run(request));
    wait_until("the command is ready", || bed.ws("ready").exists());
    let begun = std::time::Instant::now();
    wait_until("the command is ended", || bed.ws("trapped").exists());
    let lived = begun.elapsed();
    call.join().unwrap();
    // Two looks at a file, 2 ms apart at most, lie in between.
    assert!(lived > Duration::from_millis(600), "ended early: {lived:?}");
}
