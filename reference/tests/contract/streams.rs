//! Stdin, stdout and stderr of a command.

use std::time::Duration;

use boxproof_reference::process::{CAPTURE_CAP, ProcessError, ProcessRequest, ProcessStdin};
use rstest::rstest;

use crate::{run, sh, timed};

fn fed(request: ProcessRequest, size: usize) -> ProcessRequest {
    ProcessRequest { stdin: ProcessStdin::Bytes(vec![b'x'; size]), ..request }
}

#[rstest]
#[case::e21_some(ProcessStdin::Bytes(b"hello".to_vec()), "hello")]
#[case::e21_empty(ProcessStdin::Bytes(Vec::new()), "")]
#[case::e21_null(ProcessStdin::Null, "")]
fn stdin_is_what_was_given_then_its_end(#[case] stdin: ProcessStdin, #[case] seen: &str) {
    let result = run(ProcessRequest { stdin, ..sh("cat; echo .") });
    assert_eq!(result.stdout_text(), format!("{seen}.\n"));
}

#[test]
fn more_than_a_pipe_holds_goes_both_ways_at_once() {
    let result = run(fed(sh("tee /dev/stderr"), 1 << 20));
    assert_eq!((result.stdout.len(), result.stderr.len()), (1 << 20, 1 << 20));
    assert_eq!((result.success, result.truncated), (true, [false, false]));
}

#[rstest]
#[case::e22_unread("echo out; exit 0", Some(0))]
#[case::e22_partly("head -c 3; echo; echo out; exit 0", Some(0))]
#[case::e25_closed_and_handled(
    "trap 'echo out; exit 4' TERM; exec <&-; while :; do sleep 0.01; done",
    Some(4)
)]
#[case::e25_closed_and_running("echo out; exec <&-; sleep 600; echo on; exit 4", None)]
fn unread_stdin_is_an_error_beside_the_end(#[case] line: &str, #[case] code: Option<i32>) {
    let result = run(fed(sh(line), 1 << 20));
    let why = "failed to write process stdin: Broken pipe (os error 32)";
    assert_eq!(result.error, Some(ProcessError::Stdin(why.to_owned())));
    assert_eq!((result.success, result.exit_code), (false, code));
    assert!(result.stdout_text().ends_with("out\n"), "{}", result.stdout_text());
}

#[test]
fn e23_what_fits_the_pipe_was_written() {
    let result = run(fed(sh("exit 0"), 1));
    assert_eq!((result.success, result.error), (true, None));
}

#[test]
fn e24_a_timeout_is_no_error_of_stdin() {
    let result = run(fed(timed("exec sleep 600", 300), 1 << 20));
    assert_eq!(result.stderr_text(), "process timed out");
    assert_eq!((result.timed_out, result.error), (true, None));
}

#[rstest]
#[case::e28_no_utf8("printf 'a\\377b'", b"a\xffb", "a\u{fffd}b")]
#[case::e28_nul("printf 'a\\0b'", b"a\0b", "a\0b")]
fn what_is_captured_is_what_was_written(
    #[case] line: &str,
    #[case] bytes: &[u8],
    #[case] text: &str,
) {
    let result = run(sh(line));
    assert_eq!((result.stdout.as_slice(), result.stdout_text().as_str()), (bytes, text));
}

#[test]
fn e29_more_than_the_cap_is_drained_and_counted_out() {
    let line = "head -c 5000000 /dev/zero | tr '\\0' x; printf end >&2";
    let result = run(sh(line));
    assert_eq!((result.exit_code, result.stdout.len()), (Some(0), CAPTURE_CAP));
    assert_eq!((result.truncated, result.stderr_text().as_str()), ([true, false], "end"));
}

#[rstest]
#[case::exactly_the_cap(CAPTURE_CAP, false)]
#[case::one_more(CAPTURE_CAP + 1, true)]
fn the_mark_says_whether_something_is_missing(#[case] size: usize, #[case] truncated: bool) {
    let result = run(sh(&format!("head -c {size} /dev/zero")));
    assert_eq!((result.stdout.len(), result.truncated[0]), (CAPTURE_CAP, truncated));
}

#[test]
fn both_streams_are_drained_together() {
    let line = "i=0; while [ $i -lt 200 ]; do head -c 1000 /dev/zero; head -c 1000 /dev/zero >&2; i=$((i+1)); done";
    let result = run(sh(line));
    assert_eq!((result.stdout.len(), result.stderr.len()), (200_000, 200_000));
}

#[test]
fn a_writer_without_end_does_not_hold_up_the_clock() {
    let result = run(timed("exec yes", 500));
    assert!(result.timed_out && result.truncated[0]);
    assert!(result.duration < Duration::from_secs(20), "{:?}", result.duration);
}
