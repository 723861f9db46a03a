//! `debug`: captured streams are shown as well, without secrets, and captured all the same.

use std::io::Read;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::json;

use crate::bed::{Done, NAMESPACES, TestBed, UNCONFINED, wait_until};

/// Runs `line` with a secret in the launcher's environment, and another in the command's only.
fn shown(bed: &TestBed, line: &str, debug: bool) -> Done {
    let policy = json!({"env": {"scrub": false, "set": {"OTHER_KEY": "0ther-value"}}});
    let run = json!({"capture": true, "debug": debug});
    bed.write_request(&policy, json!({"shell": line}), &run);
    let output = bed.refbox().env("MY_TOKEN", "s3cretvalue").env("PLAIN", "plainvalue").output();
    bed.done(&output.unwrap())
}

#[rstest]
#[case::whole("echo $MY_TOKEN; echo $MY_TOKEN >&2", "[REDACTED_ENV]\n[REDACTED_ENV]\n")]
#[case::of_the_command("echo $OTHER_KEY", "[REDACTED_ENV]\n")]
#[case::in_two_writes("printf s3cret; sleep 0.3; echo value", "[REDACTED_ENV]\n")]
#[case::only_the_beginning("printf s3cret; sleep 0.3; echo ive", "s3cretive\n")]
#[case::at_the_very_end("printf s3cret", "s3cret")]
#[case::no_secret("echo $PLAIN", "plainvalue\n")]
#[case::a_character_in_two_writes("printf '\\346\\227'; sleep 0.3; printf '\\245'", "日")]
fn what_is_shown_holds_no_secret(
    #[case] line: &str,
    #[case] expected: &str,
    #[values(NAMESPACES, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = shown(&bed, line, true);
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (Some(0), "", expected));
}

#[rstest]
fn what_is_captured_is_raw_with_debug_and_without(
    #[values(true, false)] debug: bool,
    #[values(NAMESPACES, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = shown(&bed, "printf $MY_TOKEN; printf '\\377'$MY_TOKEN >&2; exit 3", debug);
    assert_eq!(done.expect(3).result["stdout"], "s3cretvalue");
    assert_eq!(done.result["stderr"], "\u{fffd}s3cretvalue");
    assert_eq!(done.result["stderr_b64"], STANDARD.encode(b"\xffs3cretvalue"));
    assert_eq!(done.err.is_empty(), !debug);
}

#[test]
fn a_reader_that_takes_nothing_holds_up_the_command_but_not_the_clock() {
    let bed = TestBed::new(UNCONFINED);
    let run = json!({"capture": true, "debug": true, "timeout_ms": 500});
    bed.write_request(&json!({}), json!({"argv": ["yes"]}), &run);
    let mut refbox = bed.refbox().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it has timed out", || refbox.try_wait().unwrap().is_some());
    assert_eq!(refbox.wait().unwrap().code(), Some(124));
    let mut text = String::new();
    refbox.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(text.starts_with("y\ny\n"), "nothing was shown");
}

#[test]
fn everything_is_shown_to_a_reader_that_is_slow() {
    let bed = TestBed::new(UNCONFINED);
    let run = json!({"capture": true, "debug": true});
    let line = "head -c 500000 /dev/zero | tr '\\0' x; echo; : > written; read line <&3; echo end";
    let line = format!(
        "mkfifo pipe; exec 3<>pipe; (until test -e go; do sleep 0.01; done; echo >&3) & {line}"
    );
    bed.write_request(&json!({}), json!({"shell": line}), &run);
    let mut refbox = bed.refbox().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::fs::write(bed.ws("go"), "").unwrap();
    let mut text = String::new();
    refbox.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(refbox.wait().unwrap().code(), Some(0));
    assert_eq!(text, format!("{}\nend\n", "x".repeat(500_000)));
}
