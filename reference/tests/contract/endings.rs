//! The ends of commands by themselves, and commands that do not start.

use std::cell::RefCell;
use std::time::Duration;

use boxproof_reference::process::{
    GRACE, ProcessError, ProcessRequest, Sandbox, Unsandboxed, run_process,
};
use rstest::rstest;

use crate::bed::{TestBed, UNCONFINED, is_alive};
use crate::{run, sh};

#[rstest]
#[case::e2_zero("true", Some(0), None)]
#[case::e2_seven("exit 7", Some(7), None)]
#[case::e2_255("exit 255", Some(255), None)]
#[case::e2_256("exit 256", Some(0), None)]
#[case::e5_not_found_inside("no-such-program-here", Some(127), None)]
#[case::e6_kill("kill -9 $$", None, Some(9))]
#[case::e6_segv("kill -SEGV $$", None, Some(11))]
#[case::e31_like_an_interrupt("exit 143", Some(143), None)]
fn an_end_of_its_own_is_told_as_it_is(
    #[case] line: &str,
    #[case] code: Option<i32>,
    #[case] signal: Option<i32>,
) {
    // The messages of the shell itself are not wanted.
    let result = run(sh(&format!("exec 2>&-; {line}")));
    assert_eq!((result.exit_code, result.signal), (code, signal));
    assert_eq!(result.success, code == Some(0));
    assert_eq!((result.stderr_text().as_str(), result.error), ("", None));
    assert_eq!((result.timed_out, result.interrupted_by), (false, None));
}

#[test]
fn e30_an_annotation_can_be_forged_but_not_the_members() {
    let result = run(sh("printf 'process timed out' >&2; exit 124"));
    assert_eq!((result.exit_code, result.timed_out), (Some(124), false));
    assert_eq!(result.stderr_text(), "process timed out");
}

#[rstest]
#[case::e3_missing("no-such-program-here", "No such file or directory (os error 2)")]
#[case::e4_format("./bad", "Exec format error (os error 8)")]
#[case::e4_directory("./sub", "Permission denied (os error 13)")]
#[case::e4_nul("a\0b", "nul byte found in provided data")]
#[case::e4_empty("", "No such file or directory (os error 2)")]
fn what_cannot_be_spawned_is_named(#[case] program: &str, #[case] why: &str) {
    let bed = TestBed::new(UNCONFINED);
    bed.program(&bed.ws("bad"), "true\n");
    std::fs::create_dir(bed.ws("sub")).unwrap();
    let request = ProcessRequest { current_dir: Some(bed.ws("")), ..ProcessRequest::new(program) };
    let error = run_process(request, &Unsandboxed).unwrap_err();
    assert_eq!(error.to_string(), format!("execution failed: failed to spawn `{program}`: {why}"));
}

#[test]
fn e4_a_missing_working_directory_is_a_failure_to_spawn() {
    let bed = TestBed::new(UNCONFINED);
    let request = ProcessRequest { current_dir: Some(bed.ws("none")), ..sh("true") };
    let error = run_process(request, &Unsandboxed).unwrap_err();
    let why = "execution failed: failed to spawn `/bin/sh`: its working directory: \
               No such file or directory (os error 2)";
    assert_eq!(error.to_string(), why);
}

/// Refuses everything, or puts `env MARK=1` in front; notes what it was asked.
struct Guard {
    refuses: bool,
    asked: RefCell<Vec<String>>,
}

impl Sandbox for Guard {
    fn validate(&self, request: &ProcessRequest) -> Result<(), String> {
        self.asked.borrow_mut().push(request.program.to_string_lossy().into_owned());
        if self.refuses { Err("not today".to_owned()) } else { Ok(()) }
    }

    fn wrap(&self, request: ProcessRequest) -> ProcessRequest {
        let front = ["MARK=1".into(), request.program.clone()];
        let args = front.into_iter().chain(request.args.clone()).collect();
        ProcessRequest { program: "env".into(), args, ..request }
    }
}

#[test]
fn e1_a_refused_request_is_not_begun() {
    let bed = TestBed::new(UNCONFINED);
    let guard = Guard { refuses: true, asked: RefCell::default() };
    let request = ProcessRequest { current_dir: Some(bed.ws("")), ..sh(": > made") };
    let error = run_process(request.clone(), &guard).unwrap_err();
    assert_eq!(error, ProcessError::Refused("not today".to_owned()));
    assert_eq!(
        (error.to_string().as_str(), guard.asked.take()),
        ("not today", vec!["/bin/sh".into()])
    );
    assert!(!bed.ws("made").exists());
    run_process(request, &Unsandboxed).unwrap();
    assert!(bed.ws("made").exists(), "it would not have been made anyway");
}

#[test]
fn a_sandbox_can_put_itself_in_front() {
    let guard = Guard { refuses: false, asked: RefCell::default() };
    let result = run_process(sh("echo $MARK; exit 3"), &guard).unwrap();
    assert_eq!((result.stdout_text().as_str(), result.exit_code), ("1\n", Some(3)));
}

#[rstest]
#[case::e19_same_group("sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' NONCE &")]
#[case::e20_own_session("setsid sh -c 'while :; do sleep 0.1; done' NONCE &")]
#[case::e20_redirected("setsid sh -c 'while :; do sleep 0.1; done' NONCE >/dev/null 2>&1 &")]
#[case::daemon("(setsid sh -c 'sh -c \"while :; do sleep 0.1; done\" NONCE &' &)")]
fn nothing_that_is_left_holds_up_the_end_or_survives_it(
    #[case] line: &str,
    #[values(0, 5)] code: i32,
) {
    let bed = TestBed::new(UNCONFINED);
    let nonce = bed.nonce();
    let look = nonce.replacen("nonce", "[n]once", 1);
    let line = line.replace("NONCE", &nonce);
    let line = format!(
        "{line}\nuntil grep -qs {look} /proc/[0-9]*/cmdline; do :; done; cat /proc/uptime; exit {code}"
    );
    let result = run(sh(&line));
    let now = uptime(&std::fs::read_to_string("/proc/uptime").unwrap());
    assert!(!is_alive(&nonce), "a process outlived the run");
    assert_eq!(result.exit_code, Some(code));
    let ended = uptime(&result.stdout_text());
    assert!(now < ended + GRACE, "it was waited for: {ended:?} to {now:?}");
}

/// Parses the text of `/proc/uptime`.
fn uptime(text: &str) -> Duration {
    Duration::from_secs_f64(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn e27_the_command_leads_a_group_of_its_own() {
    let result = run(sh("set -- $(cat /proc/$$/stat); test $5 = $$"));
    assert_eq!(result.exit_code, Some(0), "{}", result.stderr_text());
}
