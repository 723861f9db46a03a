//! The process that calls, and what its death does to a run.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{
    BUBBLEWRAP, LANDLOCK, NAMESPACES, ORDINARY, TestBed, UNCONFINED, is_alive, program, wait_until,
};
use crate::supervise::{finish, start};

/// The callers that die, one after each millisecond of a start.
const CALLERS: u64 = 20;

/// The number in a request that gives way to that of the caller.
const UNNAMED: u32 = 999_999_999;

/// Starts a shell whose child is `refbox`, which gets the request by its file.
fn shell_around(bed: &TestBed) -> Child {
    let refbox = bed.refbox();
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\"; :", "sh"]).arg(refbox.get_program()).args(refbox.get_args());
    quiet(shell)
}

/// Starts that shell in a session of its own, so that an adoption shows: no adopter is in it.
fn shell_in_session(bed: &TestBed) -> Child {
    let refbox = bed.refbox();
    let mut shell = Command::new("setsid");
    shell.args(["sh", "-c", "\"$@\"; :", "sh"]).arg(refbox.get_program()).args(refbox.get_args());
    quiet(shell)
}

/// Starts a shell that writes its own number into the request, before it starts `refbox`.
fn shell_with_number(bed: &TestBed) -> Child {
    let refbox = bed.refbox();
    let mut shell = Command::new("sh");
    let line = "IFS= read -r request < \"$0\"; before=${request%%\"$UNNAMED\"*}
        printf %s \"$before$$${request#*\"$UNNAMED\"}\" > \"$0\"; \"$@\"; :";
    shell.env("UNNAMED", UNNAMED.to_string()).args(["-c", line]).arg(bed.request_file());
    shell.arg(refbox.get_program()).args(refbox.get_args());
    quiet(shell)
}

/// Starts a shell whose child is `refbox`, which gets the request through a pipe.
fn shell_with_pipe(bed: &TestBed) -> Child {
    let mut shell = Command::new("sh");
    let line = "cat \"$1\" | \"$2\" run --request /dev/stdin --result \"$3\"; :";
    shell.args(["-c", line, "sh"]).arg(bed.request_file()).arg(program()).arg(bed.result_file());
    quiet(shell)
}

fn quiet(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until no process of the run is left, be it the command or `refbox`.
fn await_the_end(bed: &TestBed) {
    let root = bed.request_file().with_file_name("");
    let root = root.to_str().unwrap().to_owned();
    wait_until("nothing is left", || !is_alive(&bed.nonce()) && !is_alive(&root));
}

fn write_sleep(bed: &TestBed, run: &Value) {
    let line = "sleep 600 & : > ready; setsid sleep 600";
    let argv = ["sh", "-c", line, &bed.nonce()];
    bed.write_request(&json!({}), json!({"argv": argv}), run);
}

#[rstest]
#[case::asked(shell_around, json!({"die_with_parent": true}))]
#[case::in_its_session(shell_in_session, json!({"die_with_parent": true}))]
#[case::with_its_number(shell_with_number, json!({"parent_pid": UNNAMED}))]
#[case::through_a_pipe(shell_with_pipe, json!({}))]
fn a_run_ends_with_its_caller(
    #[case] call: fn(&TestBed) -> Child,
    #[case] run: Value,
    #[values(NAMESPACES, BUBBLEWRAP, LANDLOCK, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    write_sleep(&bed, &run);
    let mut caller = call(&bed);
    wait_until("the command is ready", || bed.ws("ready").exists());
    caller.kill().unwrap();
    caller.wait().unwrap();
    await_the_end(&bed);
    let result: Value = serde_json::from_slice(&fs::read(bed.result_file()).unwrap()).unwrap();
    assert_eq!(result["annotations"], json!(["process killed as its caller died"]), "{result}");
    assert_eq!((&result["success"], &result["error"]), (&json!(false), &Value::Null));
}

/// Checks that the death of the caller at any time of a start leaves nothing.
#[rstest]
fn a_caller_that_dies_during_the_start_leaves_nothing(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    kill_during_the_start(mechanism, shell_in_session, &json!({"die_with_parent": true}));
}

/// Checks the same where the caller shares its session with an adopter, which only its number tells
/// from the caller.
#[rstest]
fn a_caller_that_named_itself_and_dies_during_the_start_leaves_nothing() {
    kill_during_the_start(NAMESPACES, shell_with_number, &json!({"parent_pid": UNNAMED}));
}

fn kill_during_the_start(mechanism: &'static str, call: fn(&TestBed) -> Child, run: &Value) {
    let beds: Vec<TestBed> = (0..CALLERS).map(|_| TestBed::new(mechanism)).collect();
    std::thread::scope(|scope| {
        for (delay, bed) in beds.iter().enumerate() {
            scope.spawn(move || {
                write_sleep(bed, run);
                let mut caller = call(bed);
                let deadline = Duration::from_millis(delay as u64);
                let gone = kill_at_deadline(&mut caller, deadline);
                assert!(!gone, "the run ended by itself");
            });
        }
    });
    beds.iter().for_each(await_the_end);
}

/// Kills `caller` at the deadline; returns whether it had ended before.
fn kill_at_deadline(caller: &mut Child, deadline: Duration) -> bool {
    std::thread::sleep(deadline);
    let gone = caller.try_wait().unwrap().is_some();
    caller.kill().unwrap();
    caller.wait().unwrap();
    gone
}

#[rstest]
#[case::by_default(json!({}))]
#[case::told(json!({"die_with_parent": false}))]
fn a_run_that_is_not_tied_outlives_its_caller(#[case] run: Value) {
    let bed = TestBed::new(NAMESPACES);
    let line = ": > ready; until test -e go; do sleep 0.01; done; : > done";
    bed.write_request(&json!({}), json!({"shell": line}), &run);
    let mut caller = shell_around(&bed);
    wait_until("the command is ready", || bed.ws("ready").exists());
    caller.kill().unwrap();
    caller.wait().unwrap();
    fs::write(bed.ws("go"), "").unwrap();
    wait_until("the command has ended", || bed.result_file().exists());
    assert!(bed.ws("done").exists());
}

/// Checks that the end of the thread that called is not that of the process.
#[rstest]
fn a_thread_that_called_may_end() {
    let bed = TestBed::new(NAMESPACES);
    let line = ": > ready; until test -e go; do sleep 0.01; done; exit 5";
    let call = || start(&bed, line, &json!({"die_with_parent": true}));
    let child = std::thread::scope(|scope| scope.spawn(call).join()).unwrap();
    fs::write(bed.ws("go"), "").unwrap();
    finish(&bed, child).expect(5);
}

#[rstest]
fn a_caller_can_name_itself() {
    let bed = TestBed::new(NAMESPACES);
    let own = json!({"parent_pid": std::process::id()});
    bed.go(&json!({}), json!({"shell": "exit 4"}), &own).expect(4);
    let done = bed.go(&json!({}), json!({"shell": "exit 4"}), &json!({"parent_pid": 1}));
    assert_eq!((done.code, &done.result["started"]), (Some(126), &json!(false)), "{}", done.err);
    done.complains("the run cannot end with the process that called: process 1 is not its parent");
    let both = json!({"parent_pid": 1, "die_with_parent": false});
    let done = bed.go(&json!({}), json!({"shell": "exit 4"}), &both);
    assert_eq!(done.result["error"]["kind"], "invalid_request");
}

/// Checks that a parent which only adopted `refbox` is not taken for the caller.
#[rstest]
fn a_caller_that_has_died_before_is_noticed() {
    let bed = TestBed::new(NAMESPACES);
    bed.write_request(&json!({}), json!({"shell": ": > begun"}), &json!({"die_with_parent": true}));
    let refbox = bed.refbox();
    let mut session = Command::new("setsid");
    // The inner shell is the caller. It has ended before its child executes `refbox`.
    let line = "(until test -e orphan; do sleep 0.01; done; exec \"$@\") & exit";
    session.args(["sh", "-c", &format!("sh -c '{line}' sh \"$@\"; : > orphan; wait"), "sh"]);
    session.arg(refbox.get_program()).args(refbox.get_args()).current_dir(bed.out(""));
    session.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    wait_until("there is a result", || bed.result_file().exists());
    let result: Value = serde_json::from_slice(&fs::read(bed.result_file()).unwrap()).unwrap();
    let message = result["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("it has died"), "{result}");
    assert!(!bed.ws("begun").exists());
}
