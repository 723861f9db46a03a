//! Signals to the launcher beyond the first: again, too late, to stop and to go on.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use serde_json::{Value, json};

use crate::bed::{
    BUBBLEWRAP, LANDLOCK, NAMESPACES, ORDINARY, TestBed, UNCONFINED, is_alive, wait_until,
};
use crate::supervise::{finish, send, start};

/// The grace between TERM and KILL.
const GRACE: Duration = Duration::from_secs(5);

#[rstest]
#[case::ctrl_c(Signal::SIGINT, "INT", 130)]
#[case::term(Signal::SIGTERM, "TERM", 143)]
#[case::quit(Signal::SIGQUIT, "QUIT", 131)]
fn a_second_signal_ends_the_grace_at_once(
    #[case] signal: Signal,
    #[case] name: &str,
    #[case] code: i32,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let nonce = bed.nonce();
    let line = format!(
        "trap ': > heard' {name}; : > ready
         while :; do sh -c 'trap \"\" {name}; sleep 0.1' {nonce}; done"
    );
    let child = start(&bed, &line, &json!({}));
    let begun = Instant::now();
    send(&child, signal);
    wait_until("the first one is heard", || bed.ws("heard").exists());
    send(&child, signal);
    let done = finish(&bed, child);
    assert!(begun.elapsed() < GRACE - Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(done.code, Some(code));
    // The shell may have a word about the child that it loses.
    assert!(done.err.ends_with(&format!("process interrupted by signal SIG{name}\n")));
    assert!(!is_alive(&nonce));
}

#[rstest]
fn the_rest_of_the_group_has_the_grace_too(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let clean = "trap 'sleep 0.5; : > cleaned; exit' TERM; : > ready; while :; do sleep 0.05; done";
    let child = start(&bed, &format!("({clean}) & exec sleep 600"), &json!({}));
    send(&child, Signal::SIGTERM);
    let done = finish(&bed, child);
    assert!(bed.ws("cleaned").exists(), "it was killed in its handler");
    assert_eq!(done.code, Some(143));
}

/// Checks that a change of the terminal's size, which the kernel does not signal to the command's
/// own session, reaches the command and its child, and ends nothing.
#[rstest]
#[case::command("LINE")]
#[case::child("sh -c 'LINE'; exit $?")]
fn a_window_change_is_passed_on(
    #[case] form: &str,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, LANDLOCK, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "trap \": > told\" WINCH; : > ready; until [ -e told ]; do :; done; exit 6";
    let child = start(&bed, &form.replace("LINE", line), &json!({}));
    send(&child, Signal::SIGWINCH);
    let done = finish(&bed, child);
    assert_eq!(done.expect(6).err, "");
    assert_eq!(done.result["interrupted_by"], Value::Null);
}

/// The state of process `id` (`T`: stopped, `Z`: dead, not reaped).
fn state(id: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The child of `parent`, which has one.
fn child_of(parent: &Child) -> u32 {
    let id = parent.id();
    let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    list.trim().parse().expect("one child")
}

/// Checks that a signal which the launcher gets together with the command's end is reported only if
/// it came while the command lived.
#[rstest]
#[case::ended_before(true, 0, Value::Null)]
#[case::alive(false, 143, json!("SIGTERM"))]
fn a_signal_that_races_with_the_end_is_told_only_if_it_came_first(
    #[case] ended: bool,
    #[case] code: i32,
    #[case] interrupted_by: Value,
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = ": > ready; until test -e go; do sleep 0.01; done; exit 0";
    let child = start(&bed, line, &json!({}));
    send(&child, Signal::SIGSTOP);
    wait_until("the launcher is stopped", || state(child.id()) == Some('T'));
    if ended {
        fs::write(bed.ws("go"), "").unwrap();
        wait_until("the command is dead", || state(child_of(&child)) == Some('Z'));
    }
    send(&child, Signal::SIGTERM);
    send(&child, Signal::SIGCONT);
    let done = finish(&bed, child);
    assert_eq!((done.code, &done.result["interrupted_by"]), (Some(code), &interrupted_by));
    assert_eq!(done.result["success"], ended);
    assert_eq!(done.err.is_empty(), ended, "{}", done.err);
}

/// Returns how often process `id` has gone to sleep.
fn sleeps(id: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    status.lines().find(|line| line.starts_with("voluntary")).unwrap().to_owned()
}

/// The launcher passes a signal on before it can know that the command has ended.
#[rstest]
fn a_signal_that_comes_too_late_for_the_command_is_not_told(
    #[values(NAMESPACES, ORDINARY, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line =
        "trap ': > told' CONT; : > ready; until test -e go; do sleep 0.01; done; : > gone; exit 0";
    let child = start(&bed, line, &json!({}));
    // The command is ready before the launcher knows that it has started.
    send(&child, Signal::SIGCONT);
    wait_until("the launcher passes signals on", || bed.ws("told").exists());
    let inner = Pid::from_raw(child_of(&child) as i32);
    kill(inner, Signal::SIGSTOP).unwrap();
    wait_until("the inner stage is stopped", || state(inner.as_raw() as u32) == Some('T'));
    let command = fs::read_to_string(format!("/proc/{inner}/task/{inner}/children")).unwrap();
    let command: u32 = command.trim().parse().expect("one command");
    fs::write(bed.ws("go"), "").unwrap();
    wait_until("the command is dead", || state(command) == Some('Z'));
    let before = sleeps(child.id());
    send(&child, Signal::SIGTERM);
    wait_until("the launcher has passed it on", || {
        sleeps(child.id()) != before && state(child.id()) == Some('S')
    });
    kill(inner, Signal::SIGCONT).unwrap();
    let done = finish(&bed, child);
    done.expect(0);
    assert_eq!((done.err.as_str(), &done.result["interrupted_by"]), ("", &Value::Null));
}

/// The process that has `nonce` in its command line.
fn find(nonce: &str) -> u32 {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut found = entries.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(nonce.len()).any(|window| window == nonce.as_bytes())
    });
    found.next().unwrap().file_name().to_str().unwrap().parse().unwrap()
}

#[rstest]
fn a_stop_reaches_the_command_and_a_continue_too(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    // A shell that waits for its child to begin would be stopped in that.
    let line = "mkfifo pipe; exec 3<>pipe; : > ready; read line <&3; exit 3";
    let argv = ["sh", "-c", line, &bed.nonce()];
    bed.write_request(&json!({}), json!({"argv": argv}), &json!({}));
    let mut refbox = bed.refbox();
    let child = std::os::unix::process::CommandExt::process_group(&mut refbox, 0).spawn().unwrap();
    wait_until("the command is ready", || bed.ws("ready").exists());
    let command = find(&bed.nonce());
    send(&child, Signal::SIGTSTP);
    wait_until("the command is stopped", || state(command) == Some('T'));
    wait_until("so is the launcher", || state(child.id()) == Some('T'));
    send(&child, Signal::SIGCONT);
    wait_until("the command goes on", || state(command) != Some('T'));
    fs::write(bed.ws("pipe"), "go\n").unwrap();
    finish(&bed, child).expect(3);
}

#[rstest]
fn a_command_that_handles_a_stop_gets_that_very_signal(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "trap ': > stopping' TSTP; trap ': > going' CONT; : > ready
        until test -e stopping && test -e going; do sleep 0.01; done; exit 3";
    let child = start(&bed, line, &json!({}));
    send(&child, Signal::SIGTSTP);
    wait_until("the command is told", || bed.ws("stopping").exists());
    send(&child, Signal::SIGCONT);
    finish(&bed, child).expect(3);
}
