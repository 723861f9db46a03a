//! Exit codes, arguments and streams arrive unchanged, in every mechanism.

use std::io::Write;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, UNCONFINED};

#[rstest]
#[case::zero("true", 0)]
#[case::seven("exit 7", 7)]
#[case::max("exit 255", 255)]
#[case::like_a_signal("exit 137", 137)]
#[case::not_found_inside("no-such-program-here", 127)]
fn exit_codes_are_the_commands_own(
    #[case] line: &str,
    #[case] code: i32,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    assert_eq!(bed.sh(&json!({}), line).expect(code).result["signal"], Value::Null);
}

#[rstest]
#[case("KILL", 9)]
#[case("TERM", 15)]
#[case("SEGV", 11)]
#[case::without_a_name("40", 40)]
fn signals_are_told_from_codes(
    #[case] name: &str,
    #[case] signal: i32,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.sh(&json!({}), &format!("kill -{name} $$"));
    assert_eq!(done.code, Some(128 + signal), "{}", done.err);
    assert_eq!(done.result["signal"], signal);
    assert_eq!(done.result["exit_code"], Value::Null);
    assert_eq!(done.result["started"], true);
    assert_eq!(done.err, "");
}

#[rstest]
#[case::an_orphan(
    "(sh -c 'touch begun; kill -40 $$' &); until [ -e begun ]; do :; done; sleep 0.2; exit 3"
)]
#[case::a_job_left_behind("(exec sh -c 'kill -40 $$') & exec sh -c 'exit 3'")]
fn others_may_die_of_a_signal_without_a_name(
    #[case] line: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    bed.sh(&json!({}), line).expect(3);
}

#[rstest]
#[case::missing("./no", 127, "No such file or directory (os error 2)")]
#[case::missing_in_path("no-such-program-here", 127, "No such file or directory (os error 2)")]
#[case::not_executable("./plain", 126, "Permission denied (os error 13)")]
#[case::bad_format("./bad", 126, "Exec format error (os error 8)")]
#[case::directory("./sub", 126, "Permission denied (os error 13)")]
#[case::no_name("", 127, "No such file or directory (os error 2)")]
fn what_cannot_be_executed_says_so(
    #[case] program: &str,
    #[case] code: i32,
    #[case] why: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    std::fs::write(bed.ws("plain"), "true\n").unwrap();
    bed.program(&bed.ws("bad"), "true\n");
    std::fs::create_dir(bed.ws("sub")).unwrap();
    let done = bed.go(&json!({}), json!({"argv": [program]}), &json!({}));
    assert_eq!(done.code, Some(code));
    assert_eq!(done.err, format!("refbox: failed to spawn `{program}`: {why}\n"));
    assert_eq!(done.result["started"], false);
    assert_eq!(done.result["error"]["kind"], "spawn");
}

#[rstest]
fn a_closed_directory_in_path_does_not_make_a_program_exist(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let mode_of = |bits| std::os::unix::fs::PermissionsExt::from_mode(bits);
    std::fs::create_dir(bed.ws("closed")).unwrap();
    std::fs::set_permissions(bed.ws("closed"), mode_of(0o000)).unwrap();
    let policy = json!({"env": {"set": {"PATH": bed.ws("closed")}}});
    let done = bed.go(&policy, json!({"argv": ["no-such-program-here"]}), &json!({}));
    std::fs::set_permissions(bed.ws("closed"), mode_of(0o700)).unwrap();
    assert_eq!(done.code, Some(127), "{}", done.err);
}

#[rstest]
fn arguments_arrive_unchanged(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let argv = ["printf", "[%s]", "", "a b", "--", "-n", "'\"$x`", "é\n", "*"];
    let done = bed.go(&json!({}), json!({"argv": argv}), &json!({}));
    assert_eq!(done.expect(0).out, "[][a b][--][-n]['\"$x`][é\n][*]");
}

#[rstest]
fn streams_pass_through_byte_for_byte(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "cat; printf 'err\\377' >&2";
    bed.write_request(&json!({}), json!({"shell": line}), &json!({"stdin": "inherit"}));
    let mut refbox = bed.refbox();
    refbox.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut refbox = refbox.spawn().unwrap();
    refbox.stdin.take().unwrap().write_all(b"a\0\xff\n").unwrap();
    let output = refbox.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"a\0\xff\n");
    assert_eq!(output.stderr, b"err\xff");
}

#[rstest]
#[case::empty(0)]
#[case::small(5)]
#[case::more_than_a_pipe_holds(1 << 20)]
fn stdin_bytes_are_fed(
    #[case] size: usize,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let run = json!({"stdin": {"bytes_b64": STANDARD.encode(vec![b'x'; size])}});
    let done = bed.go(&json!({}), json!({"argv": ["wc", "-c"]}), &run);
    assert_eq!(done.expect(0).out.trim(), size.to_string());
}

#[rstest]
#[case::some_is_read("head -c 3; echo; exit 0", 0, "xxx\n")]
#[case::none_is_read("exit 0", 0, "")]
#[case::it_is_ended(
    "trap 'echo on; exit 4' TERM; exec <&-; while :; do sleep 0.01; done",
    4,
    "on\n"
)]
fn unread_stdin_is_an_error_next_to_the_command_s_own_end(
    #[case] line: &str,
    #[case] code: i32,
    #[case] out: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let bytes = STANDARD.encode(vec![b'x'; 1 << 20]);
    let run = json!({"stdin": {"bytes_b64": bytes}, "capture": true});
    let done = bed.go(&json!({}), json!({"shell": line}), &run);
    assert_eq!((done.code, &done.result["exit_code"]), (Some(code), &json!(code)));
    assert_eq!(done.result["stdout"], out);
    assert_eq!(done.result["success"], false);
    assert_eq!(done.result["error"]["kind"], "stdin");
    let why = "failed to write process stdin: Broken pipe (os error 32)";
    assert_eq!(done.result["error"]["message"], why);
}

#[rstest]
#[case::fits_the_pipe(1, "exit 0", json!({}), 0)]
#[case::timed_out(1 << 20, "exec sleep 600", json!({"timeout_ms": 300}), 124)]
fn unread_stdin_can_be_beside_the_point(
    #[case] size: usize,
    #[case] line: &str,
    #[case] run: Value,
    #[case] code: i32,
    #[values(NAMESPACES, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let mut run = run;
    run["stdin"] = json!({"bytes_b64": STANDARD.encode(vec![b'x'; size])});
    let done = bed.go(&json!({}), json!({"shell": line}), &run);
    assert_eq!((done.code, &done.result["error"]), (Some(code), &Value::Null));
}

#[rstest]
fn null_stdin_is_at_its_end(#[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str) {
    let bed = TestBed::new(mechanism);
    assert_eq!(
        bed.go(&json!({}), json!({"argv": ["wc", "-c"]}), &json!({})).expect(0).out.trim(),
        "0"
    );
}

#[rstest]
fn captured_streams_are_in_the_result_up_to_the_cap(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "printf 'a\\377b'; printf err >&2";
    let done = bed.go(&json!({}), json!({"shell": line}), &json!({"capture": true}));
    assert_eq!((done.expect(0).out.as_str(), done.err.as_str()), ("", ""));
    assert_eq!(done.result["stdout"], "a\u{fffd}b");
    assert_eq!(done.result["stdout_b64"], STANDARD.encode(b"a\xffb"));
    assert_eq!(done.result["stderr"], "err");
    assert_eq!(done.result["truncated"], false);
    let line = "head -c 3000000 /dev/zero | tr '\\0' x";
    let done = bed.go(&json!({}), json!({"shell": line}), &json!({"capture": true}));
    assert_eq!(done.expect(0).result["stdout"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(done.result["truncated"], true);
}

#[rstest]
fn the_working_directory_is_the_one_asked_for(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    std::fs::create_dir(bed.ws("sub dir")).unwrap();
    let run = json!({"cwd": bed.ws("sub dir")});
    let done = bed.go(&json!({}), json!({"argv": ["pwd"]}), &run);
    assert_eq!(done.expect(0).out, format!("{}\n", bed.ws("sub dir").display()));
}
