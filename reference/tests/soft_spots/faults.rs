//! System calls that fail, made to by a seccomp filter of the calling thread: each failure has its
//! own error, and nothing is left.

use std::collections::BTreeMap;

use boxproof_reference::process::{
    ProcessError, ProcessRequest, ProcessResult, ProcessStdin, Unsandboxed, run_process,
};
use nix::sys::signal::Signal;
use rstest::rstest;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::bed::{TestBed, UNCONFINED, is_alive, wait_until};
use crate::{descriptors, dispositions, no_child_is_left, sh, turn};

/// A call that fails: its number, and one argument it must have.
type Failing = (i64, Option<(u8, u64)>);

/// Bytes that are read at once from a captured stream.
const CHUNK: u64 = 1 << 16;

/// Runs `request` where `failing` calls give `errno`, in a thread of its own.
fn run_without(
    failing: &[Failing],
    errno: i32,
    request: ProcessRequest,
) -> Result<ProcessResult, ProcessError> {
    let filter = filter(failing, errno);
    std::thread::spawn(move || {
        seccompiler::apply_filter(&filter).unwrap();
        run_process(request, &Unsandboxed)
    })
    .join()
    .unwrap()
}

fn filter(failing: &[Failing], errno: i32) -> BpfProgram {
    let rule = |argument: &Option<(u8, u64)>| match argument {
        None => Vec::new(),
        Some((index, value)) => {
            let equal = SeccompCmpOp::Eq;
            let is = SeccompCondition::new(*index, SeccompCmpArgLen::Qword, equal, *value).unwrap();
            vec![SeccompRule::new(vec![is]).unwrap()]
        }
    };
    let rules: BTreeMap<_, _> = failing.iter().map(|(call, arg)| (*call, rule(arg))).collect();
    let fail = SeccompAction::Errno(errno as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    SeccompFilter::new(rules, SeccompAction::Allow, fail, arch).unwrap().try_into().unwrap()
}

#[cfg(target_arch = "x86_64")]
const WAIT: [Failing; 2] = [(libc::SYS_epoll_wait, None), (libc::SYS_epoll_pwait, None)];
#[cfg(not(target_arch = "x86_64"))]
const WAIT: [Failing; 1] = [(libc::SYS_epoll_pwait, None)];

#[test]
fn a_wait_error_kills_and_reaps() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let line = format!("setsid sh -c 'while :; do sleep 0.1; done' {} & sleep 600", bed.nonce());
    let error = run_without(&WAIT, libc::EIO, sh(&bed, &line)).unwrap_err();
    let why = "failed waiting for process: Input/output error (os error 5)";
    assert_eq!(error, ProcessError::Wait(why.to_owned()));
    assert_eq!(error.to_string(), format!("execution failed: {why}"));
    no_child_is_left();
    assert!(!is_alive(&bed.nonce()));
}

#[test]
fn a_drain_error_is_reported_and_kills() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let line = format!("echo out; sh -c 'while :; do sleep 0.1; done' {}", bed.nonce());
    let failing = [(libc::SYS_read, Some((2, CHUNK)))];
    let error = run_without(&failing, libc::EIO, sh(&bed, &line)).unwrap_err();
    let why = "failed to read process stdout: Input/output error (os error 5)";
    assert_eq!(error, ProcessError::Wait(why.to_owned()));
    no_child_is_left();
    assert!(!is_alive(&bed.nonce()));
}

#[rstest]
#[case::first(Signal::SIGINT)]
#[case::later(Signal::SIGHUP)]
#[case::last(Signal::SIGCONT)]
fn a_handler_that_cannot_be_installed_is_found_before_the_spawn(#[case] signal: Signal) {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let (before, held) = (dispositions(), descriptors());
    let failing = [(libc::SYS_rt_sigaction, Some((0, signal as u64)))];
    let error = run_without(&failing, libc::EPERM, sh(&bed, ": > made")).unwrap_err();
    let why = format!(
        "failed to install signal handler for {}: Operation not permitted (os error 1)",
        signal.as_str()
    );
    assert_eq!(error, ProcessError::Spawn(why));
    no_child_is_left();
    assert!(!bed.ws("made").exists(), "it was spawned");
    // Neither the handlers that could be installed stay, nor what was opened for them.
    assert_eq!((dispositions(), descriptors()), (before, held));
}

#[test]
fn a_signal_pipe_that_cannot_be_made_is_found_before_the_spawn() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let (before, held) = (dispositions(), descriptors());
    let failing = [(libc::SYS_eventfd2, None)];
    let error = run_without(&failing, libc::EMFILE, sh(&bed, ": > made")).unwrap_err();
    let why = "failed to create signal pipe: Too many open files (os error 24)";
    assert_eq!(error, ProcessError::Spawn(why.to_owned()));
    assert!(!bed.ws("made").exists(), "it was spawned");
    assert_eq!((dispositions(), descriptors()), (before, held));
}

#[test]
fn a_fork_that_fails_is_a_failure_to_spawn_and_leaks_nothing() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let (before, held) = (dispositions(), descriptors());
    let failing = [(libc::SYS_clone, None), (libc::SYS_clone3, None)];
    let error = run_without(&failing, libc::EAGAIN, sh(&bed, ": > made")).unwrap_err();
    let why = "failed to spawn `/bin/sh`: Resource temporarily unavailable (os error 11)";
    assert_eq!(error, ProcessError::Spawn(why.to_owned()));
    assert_eq!((dispositions(), descriptors()), (before, held));
}

#[test]
fn a_finished_call_leaks_nothing() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let held = descriptors();
    let stdin = ProcessStdin::Bytes(vec![b'x'; 1 << 20]);
    let request = ProcessRequest { stdin, ..sh(&bed, "cat") };
    assert_eq!(run_process(request, &Unsandboxed).unwrap().stdout.len(), 1 << 20);
    assert_eq!(descriptors(), held);
    no_child_is_left();
}

/// The name of the thread that makes the call.
const CALLER: &str = "the-caller";

/// The names of threads that run tests, and of the one that waits for them.
const OF_TESTS: [&str; 3] = ["faults::", "signals::", "soft_spots"];

/// The names of all threads of this process but those of tests.
fn others() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    let names = names.map(|name| name.trim_end().to_owned());
    names.filter(|name| !OF_TESTS.iter().any(|test| name.starts_with(test))).collect()
}

/// No thread writes or reads, so none can panic: the loop does it all.
#[test]
fn there_is_no_writer_that_could_panic() {
    let _turn = turn();
    let bed = TestBed::new(UNCONFINED);
    let stdin = ProcessStdin::Bytes(vec![b'x'; 1 << 20]);
    let request = ProcessRequest {
        stdin,
        ..sh(&bed, ": > ready; until test -e go; do sleep 0.01; done; cat")
    };
    let call = move || run_process(request, &Unsandboxed).unwrap();
    let call = std::thread::Builder::new().name(CALLER.to_owned()).spawn(call).unwrap();
    wait_until("the command is ready", || bed.ws("ready").exists());
    assert_eq!(others(), [CALLER], "more than the caller's own thread");
    std::fs::write(bed.ws("go"), "").unwrap();
    assert_eq!(call.join().unwrap().stdout.len(), 1 << 20);
}
