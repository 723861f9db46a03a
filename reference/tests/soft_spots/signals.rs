//! Signals to the process that runs the calls.

use std::fs;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use boxproof_reference::process::{GRACE, ProcessRequest, ProcessResult, Unsandboxed, run_process};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;

use crate::bed::{TestBed, UNCONFINED, is_alive, wait_until};
use crate::{dispositions, no_child_is_left, sh, turn};

fn begin(request: ProcessRequest) -> JoinHandle<ProcessResult> {
    std::thread::spawn(move || run_process(request, &Unsandboxed).unwrap())
}

/// To this process, where a call must be running.
fn send(signal: Signal) {
    kill(Pid::this(), signal).unwrap();
}

fn ready(bed: &TestBed, name: &str) {
    wait_until(name, || bed.ws(name).exists());
}

#[rstest]
#[case::e16_int(Signal::SIGINT, 130)]
#[case::e16_term(Signal::SIGTERM, 143)]
#[case::hang_up(Signal::SIGHUP, 129)]
#[case::quit(Signal::SIGQUIT, 131)]
fn a_signal_ends_the_command_and_is_told(
    #[case] signal: Signal,
    #[case] code: i32,
    #[values("", "printf boom >&2; ", "echo boom >&2; ")] before: &str,
) {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let call = begin(sh(&bed, &format!("{before}: > ready; exec sleep 600")));
    ready(&bed, "ready");
    send(signal);
    let result = call.join().unwrap();
    assert_eq!((result.exit_code, result.success), (Some(code), false));
    assert_eq!(result.interrupted_by.as_deref(), Some(signal.as_str()));
    let said = ["", "boom\n", "boom\n\n"][["", "printf boom >&2; ", "echo boom >&2; "]
        .iter()
        .position(|text| *text == before)
        .unwrap()];
    let line = format!("{said}process interrupted by signal {}", signal.as_str());
    assert_eq!(result.stderr_text(), line);
    no_child_is_left();
}

#[test]
fn e17_a_handler_that_ends_well_changes_nothing() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let line = "trap 'echo trapped; exit 0' TERM; : > ready; while :; do sleep 0.05; done";
    let call = begin(sh(&bed, line));
    ready(&bed, "ready");
    send(Signal::SIGTERM);
    let result = call.join().unwrap();
    assert_eq!((result.exit_code, result.success), (Some(143), false));
    assert_eq!(result.stdout_text(), "trapped\n");
}

#[test]
fn e18_a_command_that_ignores_it_is_killed_after_the_grace() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let call = begin(sh(&bed, "trap '' TERM; : > ready; while :; do sleep 0.1; done"));
    ready(&bed, "ready");
    let begun = Instant::now();
    send(Signal::SIGTERM);
    let result = call.join().unwrap();
    let took = begun.elapsed();
    assert!(took >= GRACE && took < GRACE + Duration::from_secs(3), "{took:?}");
    assert_eq!(result.exit_code, Some(143));
}

#[test]
fn one_signal_ends_every_running_call() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let names = ["ready1", "ready2", "ready3"];
    let calls = names.map(|name| begin(sh(&bed, &format!(": > {name}; exec sleep 600"))));
    names.iter().for_each(|name| ready(&bed, name));
    send(Signal::SIGTERM);
    for call in calls {
        let result = call.join().unwrap();
        assert_eq!(result.exit_code, Some(143));
        assert_eq!(result.stderr_text(), "process interrupted by signal SIGTERM");
    }
}

#[test]
fn a_second_interrupt_ends_the_grace_at_once() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let line = format!(
        "trap ': > heard' INT; : > ready; while :; do sh -c 'trap \"\" INT; sleep 0.1' {}; done",
        bed.nonce()
    );
    let call = begin(sh(&bed, &line));
    ready(&bed, "ready");
    let begun = Instant::now();
    send(Signal::SIGINT);
    ready(&bed, "heard");
    send(Signal::SIGINT);
    let result = call.join().unwrap();
    assert!(begun.elapsed() < GRACE - Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(result.exit_code, Some(130));
    assert_eq!(result.stderr_text(), "process interrupted by signal SIGINT");
    assert!(!is_alive(&bed.nonce()));
}

#[test]
fn a_hang_up_after_a_signal_leaves_the_grace() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let line = "trap ': > heard' TERM; trap 'sleep 0.5; echo cleaned; exit' HUP
        : > ready; while :; do sleep 0.05; done";
    let call = begin(sh(&bed, line));
    ready(&bed, "ready");
    send(Signal::SIGTERM);
    ready(&bed, "heard");
    send(Signal::SIGHUP);
    let result = call.join().unwrap();
    assert_eq!(result.stdout_text(), "cleaned\n");
    assert_eq!(result.exit_code, Some(143));
}

/// Leaves a dead process in the group whose parent, in a session of its own, does not reap it.
const ZOMBIE: &str = "import os, time
if os.fork() == 0: os._exit(0)
os.setsid()
open('ready', 'w')
time.sleep(600)";

#[test]
fn e14_the_dead_in_the_group_cost_no_grace() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let call = begin(sh(&bed, &format!("python3 -c \"{ZOMBIE}\" & wait")));
    ready(&bed, "ready");
    let begun = Instant::now();
    send(Signal::SIGTERM);
    assert_eq!(call.join().unwrap().exit_code, Some(143));
    assert!(begun.elapsed() < GRACE - Duration::from_millis(500), "{:?}", begun.elapsed());
}

#[test]
fn a_stopped_command_heeds_a_signal_all_the_same() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let line = "trap 'echo trapped; exit' TERM; : > ready; kill -STOP $$; while :; do :; done";
    let call = begin(sh(&bed, line));
    ready(&bed, "ready");
    send(Signal::SIGTERM);
    assert_eq!(call.join().unwrap().stdout_text(), "trapped\n");
}

#[test]
fn dispositions_are_put_back_after_the_last_call() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let before = dispositions();
    let calls = ["a", "b"].map(|name| {
        begin(sh(&bed, &format!(": > {name}; until test -e {name}.go; do sleep 0.01; done")))
    });
    ready(&bed, "a");
    ready(&bed, "b");
    let during = dispositions();
    assert_ne!(during, before, "nothing is caught while calls run");
    let [a, b] = calls;
    fs::write(bed.ws("a.go"), "").unwrap();
    a.join().unwrap();
    assert_eq!(dispositions(), during, "the other call has lost its handlers");
    fs::write(bed.ws("b.go"), "").unwrap();
    b.join().unwrap();
    assert_eq!(dispositions(), before);
}

#[test]
fn the_bell_can_be_rung_without_end_and_never_blocks() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let call = begin(sh(&bed, ": > ready; until test -e go; do sleep 0.01; done; exit 3"));
    ready(&bed, "ready");
    let bells = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_bell = fs::read_link(&path).ok()?.as_os_str() == "anon_inode:[eventfd]";
        is_bell.then(|| path.file_name().unwrap().to_str().unwrap().to_owned())
    });
    let bells: Vec<_> = bells.collect();
    assert_eq!(bells.len(), 1);
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", bells[0])).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    let flags = i32::from_str_radix(flags.trim(), 8).unwrap();
    assert_ne!(flags & libc::O_NONBLOCK, 0, "a handler could block: {info}");
    (0..20_000).for_each(|_| send(Signal::SIGCONT));
    fs::write(bed.ws("go"), "").unwrap();
    let result = call.join().unwrap();
    assert_eq!((result.exit_code, result.interrupted_by), (Some(3), None));
}
