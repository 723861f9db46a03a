//! Waiting for signals, and the limit on all waiting.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use boxproof_probes::{ActOutcome, FoundRecords, ProbeEvent, events, find};
use nix::sys::signal::Signal;
use rstest::rstest;

use crate::support::{probe, probe_with};

#[test]
fn ready_is_an_event_and_no_record() {
    let ran = probe("ready").run();
    assert_eq!(events(&ran.nonce, &ran.stdout), [ProbeEvent::Ready]);
    assert_eq!(find(&ran.nonce, &ran.stdout), FoundRecords::None);
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn a_mark_is_an_event_by_its_name() {
    let ran = probe("mark").arg("name", "got-term").run();
    assert_eq!(events(&ran.nonce, &ran.stdout), [ProbeEvent::Mark("got-term".to_owned())]);
    assert_eq!((find(&ran.nonce, &ran.stdout), ran.status.code()), (FoundRecords::None, Some(0)));
}

#[rstest]
#[case(Signal::SIGTERM)]
#[case(Signal::SIGINT)]
#[case(Signal::SIGPIPE)]
#[case(Signal::SIGALRM)]
#[case(Signal::SIGKILL)]
fn hold_ends_by_any_signal(#[case] signal: Signal) {
    let running = probe("hold").until_ready();
    running.signal(signal);
    running.ended_by(signal);
}

#[test]
fn trap_runs_its_handler_to_the_end() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let file = dir.path().join("note");
    let call = probe("trap").arg("signal", "TERM").arg("write", &file);
    let running = call.arg("text", "cleaned up").arg("exit", "42").until_ready();
    let nonce = running.nonce.clone();
    running.signal(Signal::SIGTERM);
    let (stdout, status) = running.end();
    assert_eq!(status.code(), Some(42));
    assert_eq!(fs::read_to_string(&file).expect("written"), "cleaned up");
    assert!(
        matches!(find(&nonce, &stdout), FoundRecords::One(r) if r.outcome == ActOutcome::Succeeded)
    );
}

#[test]
fn trap_lingers_however_often_it_is_signalled() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let file = dir.path().join("note");
    let call = probe("trap").arg("signal", "TERM").arg("linger-ms", "300").arg("write", &file);
    let mut running = call.arg("text", "late").arg("exit", "42").until_ready();
    let sent = Instant::now();
    let status = loop {
        running.signal(Signal::SIGTERM);
        if let Some(status) = running.child.try_wait().expect("our own child") {
            break status;
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(42));
    assert!(sent.elapsed() >= Duration::from_millis(300));
    assert_eq!(fs::read_to_string(&file).expect("written"), "late");
}

#[test]
fn signals_are_named_as_they_come() {
    let call = probe("signals").arg("signal", "TERM,INT").arg("signal", "CONT");
    let mut running = call.arg("last", "USR1").arg("exit", "42").until_ready();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGCONT, Signal::SIGINT] {
        running.signal(signal);
        assert_eq!(running.line(), signal.as_str());
    }
    let nonce = running.nonce.clone();
    running.signal(Signal::SIGUSR1);
    let (stdout, status) = running.end();
    assert_eq!(status.code(), Some(42));
    assert!(stdout.starts_with(b"SIGUSR1\n"), "{}", String::from_utf8_lossy(&stdout));
    assert!(
        matches!(find(&nonce, &stdout), FoundRecords::One(r) if r.outcome == ActOutcome::Succeeded)
    );
}

#[test]
fn trap_leaves_other_signals_alone_and_reports_a_refusal() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let file = dir.path().join("absent/note");
    let call = || {
        let call = probe("trap").arg("signal", "TERM").arg("write", &file);
        call.arg("text", "x").arg("exit", "42").until_ready()
    };
    let running = call();
    running.signal(Signal::SIGHUP);
    running.ended_by(Signal::SIGHUP);
    let running = call();
    let nonce = running.nonce.clone();
    running.signal(Signal::SIGTERM);
    let (stdout, status) = running.end();
    assert_eq!(status.code(), Some(1));
    let refused = ActOutcome::Refused { errno: "ENOENT".into(), call: "openat".into() };
    assert!(matches!(find(&nonce, &stdout), FoundRecords::One(r) if r.outcome == refused));
}

#[test]
fn ignore_outlives_what_it_ignores() {
    let running = probe("ignore").arg("signal", "TERM,INT").arg("signal", "HUP").until_ready();
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        running.signal(signal);
    }
    // A pending signal with a lower number would be taken first.
    running.signal(Signal::SIGPROF);
    running.ended_by(Signal::SIGPROF);
}

#[test]
fn what_cannot_be_ignored_is_a_refusal() {
    probe("ignore").arg("signal", "KILL").run().refused("EINVAL", "sigaction");
    let signals = probe("signals").arg("signal", "STOP").arg("last", "TERM").arg("exit", "0");
    signals.run().refused("EINVAL", "sigaction");
}

#[test]
fn nothing_waits_longer_than_its_limit() {
    let limited = |name| probe_with(&["--limit", "1"], name);
    limited("hold").run().silent(75);
    limited("ignore").arg("signal", "ALRM").run().silent(75);
    let trap = limited("trap").arg("signal", "ALRM").arg("write", "/").arg("text", "");
    trap.arg("exit", "0").run().silent(75);
    let signals = limited("signals").arg("signal", "INT").arg("last", "TERM");
    signals.arg("exit", "0").run().silent(75);
}

#[test]
fn a_blocked_call_is_out_of_time_and_no_observation() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let fifo = dir.path().join("fifo");
    probe("mknod-fifo").path(&fifo).run().succeeded();
    probe_with(&["--limit", "1"], "read").path(&fifo).run().silent(75);
    let mut echo = probe_with(&["--limit", "1"], "echo-stdin");
    echo.command.stdin(Stdio::piped());
    // `end` leaves our side of stdin open.
    let (stdout, status) = echo.spawn().end();
    assert_eq!((stdout.as_slice(), status.code()), (b"".as_slice(), Some(75)));
}
