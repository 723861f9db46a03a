//! The victim, as the real program: it feels the acts on it and nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

use std::path::Path;
use std::process::Command;

use boxproof::workspace::RunningVictim;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;

const PROGRAM: &str = env!("CARGO_BIN_EXE_boxproof");

fn victim() -> (RunningVictim, Pid) {
    let victim = RunningVictim::start(Path::new(PROGRAM), "bx7-victim").unwrap();
    let pid = Pid::from_raw(victim.pid().cast_signed());
    (victim, pid)
}

/// Reads one field of /proc/PID/stat, counted after the command's name.
fn state(pid: Pid) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap().to_string()
}

#[test]
fn left_alone_it_feels_nothing_however_often_it_is_asked() {
    let (mut victim, pid) = victim();
    // Looking at it and asking whether it is there is no touch.
    kill(pid, None).unwrap();
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(line.windows(10).any(|word| word == b"bx7-victim"));
    for _ in 0..3 {
        assert_eq!(victim.felt(), (Vec::new(), true));
    }
}

#[rstest]
#[case(Signal::SIGTERM)]
#[case(Signal::SIGINT)]
#[case(Signal::SIGHUP)]
#[case(Signal::SIGCHLD)]
#[case(Signal::SIGURG)]
#[case(Signal::SIGWINCH)]
#[case(Signal::SIGCONT)]
fn it_feels_a_signal_and_lives_on(#[case] signal: Signal) {
    let (mut victim, pid) = victim();
    kill(pid, signal).unwrap();
    assert_eq!(victim.felt(), (vec![signal.to_string()], true));
}

/// Every number is a signal's own, none is taken for an answer.
#[rstest]
fn it_feels_a_real_time_signal(#[values(34, 50, 63, 64)] number: i32) {
    let (mut victim, pid) = victim();
    let shell = format!("kill -{number} {pid}");
    assert!(Command::new("/bin/bash").args(["-c", &shell]).status().unwrap().success());
    assert_eq!(victim.felt(), (vec![format!("signal {number}")], true));
    assert_eq!(victim.felt(), (vec![format!("signal {number}")], true));
}

#[test]
fn it_does_not_survive_a_kill() {
    let (mut victim, pid) = victim();
    kill(pid, Signal::SIGKILL).unwrap();
    assert_eq!(victim.felt(), (Vec::new(), false));
}

#[test]
fn it_feels_a_stop_that_is_over() {
    let (mut victim, pid) = victim();
    kill(pid, Signal::SIGSTOP).unwrap();
    wait_until_stopped(pid);
    kill(pid, Signal::SIGCONT).unwrap();
    let (felt, runs) = victim.felt();
    // Which of the two wakes it first is the kernel's choice.
    let known = ["a stop or a tracer", "SIGCONT"];
    assert!(runs && !felt.is_empty(), "{felt:?}");
    assert!(felt.iter().all(|word| known.contains(&word.as_str())), "{felt:?}");
}

#[test]
fn a_stop_that_lasts_is_no_silence() {
    let (mut victim, pid) = victim();
    kill(pid, Signal::SIGSTOP).unwrap();
    wait_until_stopped(pid);
    let (felt, runs) = victim.felt();
    assert!(runs && !felt.is_empty(), "{felt:?}");
}

fn wait_until_stopped(pid: Pid) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while state(pid) != "T" {
        assert!(std::time::Instant::now() < deadline, "it does not stop");
        std::thread::yield_now();
    }
}

#[test]
fn it_feels_a_tracer_exactly_where_one_may_attach() {
    let (mut victim, pid) = victim();
    let probe = Command::new(PROGRAM)
        .args(["probe", "--nonce", "n1", "ptrace-attach", &format!("--pid={pid}")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&probe.stdout);
    let (felt, runs) = victim.felt();
    assert!(runs);
    match probe.status.code() {
        Some(0) => assert_eq!(felt, ["a stop or a tracer"], "{said}"),
        // Some hosts let only a parent trace.
        Some(1) => {
            assert!(said.contains("EPERM"), "{said}");
            assert_eq!(felt, [""; 0]);
        }
        other => panic!("{other:?}: {said}"),
    }
}

#[test]
fn dropping_it_ends_it() {
    let (victim, pid) = victim();
    drop(victim);
    assert_eq!(kill(pid, None), Err(Errno::ESRCH));
}

#[test]
fn a_program_that_is_no_victim_is_an_error() {
    assert!(RunningVictim::start(Path::new("/bin/true"), "bx7-victim").is_err());
    assert!(RunningVictim::start(Path::new("/absent"), "bx7-victim").is_err());
}
