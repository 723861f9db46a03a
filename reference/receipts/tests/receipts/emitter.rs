//! The emitter: kinds of errors as published, and a count that neither loses nor invents.

use std::os::unix::net::UnixListener;

use boxproof_receipts::emit::{EmitError, FrameEmitter, event};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{DaemonFixture, frame, vectors};

#[test]
fn failures_are_of_the_published_kinds() {
    let file = vectors("emit_failure_vectors.json");
    for case in file["cases"].as_array().unwrap() {
        let fixture = DaemonFixture::new();
        let mut emitter = FrameEmitter::new(fixture.socket());
        let good = String::from_utf8(frame(json!({}))).unwrap();
        let outcome = match case["name"].as_str().unwrap() {
            "dial_failure_unreachable_socket" => emitter.emit_text(&good),
            "caller_bug_invalid_decision" => emitter.emit_text(&good.replace("allowed", "maybe")),
            other => panic!("a new case, {other}: emit it"),
        };
        let category = outcome.as_ref().map_or_else(EmitError::category, |()| "success");
        assert_eq!(category, case["expect"].as_str().unwrap(), "{}", case["name"]);
    }
}

#[test]
fn losses_are_counted_and_told_once() {
    let fixture = DaemonFixture::new();
    let mut emitter = FrameEmitter::new(fixture.socket());
    let one = || event("s", "command", json!({"command": "true"}), json!({"exit_code": 0}));
    for lost in 1..=3 {
        assert_eq!(emitter.emit(one()).unwrap_err().category(), "transport_error");
        assert_eq!(emitter.drops(), lost);
    }
    let mut bad = one();
    bad.session_id.clear();
    assert_eq!(emitter.emit(bad).unwrap_err().category(), "caller_error");
    let huge = event("s", "command", json!("x".repeat(1 << 20)), json!({}));
    assert_eq!(emitter.emit(huge).unwrap_err().category(), "caller_error");
    assert_eq!(emitter.drops(), 3);
    let daemon = fixture.start(&[]);
    emitter.emit(one()).unwrap();
    assert_eq!(emitter.drops(), 0);
    emitter.emit(one()).unwrap();
    let receipts = fixture.await_receipts(4);
    let count = "/credentialSubject/action/emitter_metadata/drop_count";
    let counts: Vec<_> = receipts.iter().map(|r| r.pointer(count).cloned()).collect();
    assert_eq!(counts, [None, Some(json!(3)), None, None]);
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[test]
fn a_daemon_that_does_not_read_is_a_transport_error_in_bounded_time() {
    let fixture = DaemonFixture::new();
    let _silent = UnixListener::bind(fixture.socket()).unwrap();
    let mut emitter = FrameEmitter::new(fixture.socket());
    let big = || event("s", "command", json!("x".repeat(900_000)), json!({}));
    let failed = (0..10).find_map(|_| emitter.emit(big()).err());
    assert_eq!(failed, Some(EmitError::Transport("the daemon does not read".to_owned())));
    assert_eq!(emitter.drops(), 1);
}
