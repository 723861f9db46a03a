//! Lost events: told of right before the next one that arrived, or not at all.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{ACTION, CHAIN, Daemon, DaemonFixture, connect, each, report, send};

const LOST: &str = "agent_receipts.events_dropped";
const LIVE: &str = "opensandbox_execd.command";

#[test]
fn the_count_stands_right_before_the_live_receipt() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    send(&mut stream, json!({"drop_count": 3, "issuer_name": "n", "model": "m", "input": {}}));
    send(&mut stream, json!({"drop_count": 0}));
    let receipts = fixture.await_receipts(4);
    assert_eq!(each(&receipts[1..], ACTION), [LOST, LIVE, LIVE]);
    let (lost, live) = (&receipts[1], &receipts[2]);
    let action = &lost["credentialSubject"]["action"];
    assert_eq!(action["emitter_metadata"], json!({"drop_count": 3}));
    assert_eq!(action["risk_level"], "low");
    assert_eq!(lost["credentialSubject"]["outcome"], json!({"status": "success"}));
    let members: Vec<&String> = lost["issuer"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["id", "session_id"]);
    let live_action = &live["credentialSubject"]["action"];
    assert_eq!(action["peer_credential"], live_action["peer_credential"]);
    assert!(!live.to_string().contains("drop_count"));
    assert!(!receipts[3].to_string().contains("drop_count"));
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[test]
fn pairs_stay_together_while_others_emit() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    std::thread::scope(|scope| {
        for sandbox in ["a", "b", "c", "d"] {
            let fixture = &fixture;
            scope.spawn(move || {
                let mut stream = connect(fixture);
                for n in 1..=50 {
                    send(&mut stream, json!({"sandbox_id": sandbox, "drop_count": n % 2 * n}));
                }
            });
        }
    });
    let receipts = fixture.await_receipts(1 + 4 * 75);
    for (at, receipt) in
        receipts.iter().enumerate().filter(|(_, r)| r.pointer(ACTION) == Some(&json!(LOST)))
    {
        let next = &receipts[at + 1];
        assert_eq!(next.pointer(ACTION), Some(&json!(LIVE)));
        assert_eq!(next.pointer(CHAIN), receipt.pointer(CHAIN));
    }
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[test]
fn the_first_of_a_sandbox_may_be_a_count_and_is_anchored() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    send(&mut connect(&fixture), json!({"sandbox_id": "a", "drop_count": 7}));
    let receipts = fixture.await_receipts(3);
    assert_eq!(each(&receipts, ACTION)[1], LOST);
    let delegation = "/credentialSubject/delegation/parent_receipt_id";
    assert_eq!(each(&receipts, delegation), [&json!(null), &receipts[0]["id"], &json!(null)]);
    assert_eq!(receipts[1]["credentialSubject"]["chain"]["sequence"], 1);
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

/// Starts a daemon whose store is limited to `bytes`.
fn limited(fixture: &DaemonFixture, bytes: u64) -> Daemon {
    let mut prlimit = Command::new("prlimit");
    prlimit.arg(format!("--fsize={bytes}"));
    let daemon = fixture.command(&[]);
    prlimit.arg(daemon.get_program()).args(daemon.get_args());
    Daemon::spawn_ready(prlimit)
}

#[test]
fn a_store_that_cannot_grow_ends_the_daemon_and_holds_whole_pairs() {
    // The length of a count and a live receipt together is measured first.
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let started = fixture.bytes().len() as u64;
    send(&mut connect(&fixture), json!({"drop_count": 1}));
    fixture.await_receipts(3);
    let pair = fixture.bytes().len() as u64 - started;
    daemon.end(Signal::SIGKILL);
    // One byte less than a pair needs, and half of it: neither leaves a part of it.
    for room in [pair - 1, pair / 2 + 100, 1] {
        let fixture = DaemonFixture::new();
        let daemon = limited(&fixture, started + room);
        let before = fixture.bytes();
        assert_eq!(before.len() as u64, started);
        send(&mut connect(&fixture), json!({"drop_count": 1}));
        let (status, said) = daemon.ended();
        assert_eq!((status.code(), status.signal()), (Some(1), None), "{said}");
        assert!(said.contains("not written"), "{said}");
        assert_eq!(std::fs::read(fixture.path("store")).unwrap(), before);
        assert!(report(&before, &fixture.key(), true).valid);
        // With room it goes on where it was.
        let daemon = fixture.start(&[]);
        send(&mut connect(&fixture), json!({"drop_count": 1}));
        fixture.await_receipts(4);
        daemon.end(Signal::SIGTERM);
        fixture.assert_valid();
    }
}
