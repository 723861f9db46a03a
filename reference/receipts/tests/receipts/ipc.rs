//! The socket's framing and what of a frame is believed.

use std::io::{Read, Write};
use std::net::Shutdown;

use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{ACTION, DaemonFixture, connect, each, frame, framed, send};

/// Sends `bytes`; the daemon must close the connection without storing anything.
fn closes(bytes: &[u8], half: bool) {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    stream.write_all(bytes).unwrap();
    if half {
        stream.shutdown(Shutdown::Write).unwrap();
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the end of the stream");
    send(&mut connect(&fixture), json!({"sandbox_id": "next"}));
    let receipts = fixture.await_receipts(2);
    let chain = &receipts[1]["credentialSubject"]["chain"];
    assert_eq!((receipts.len(), &chain["sequence"]), (2, &json!(1)));
    let (_, said) = daemon.end(Signal::SIGTERM);
    assert!(said.contains("connection closed"), "{said}");
}

#[rstest]
#[case::nothing(0)]
#[case::one_too_many((1 << 20) + 1)]
#[case::most(u32::MAX)]
fn a_length_that_is_not_allowed(#[case] length: u32) {
    closes(&length.to_be_bytes(), false);
}

#[rstest]
#[case::header(2)]
#[case::body(50)]
fn a_frame_that_is_cut(#[case] kept: usize) {
    closes(&framed(&frame(json!({})))[..kept], true);
}

#[test]
fn the_longest_frame_is_taken() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let bare = frame(json!({"input": ""})).len();
    let text = "x".repeat((1 << 20) - bare);
    send(&mut connect(&fixture), json!({"input": text}));
    fixture.await_receipts(2);
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[test]
fn a_bad_frame_costs_nothing_but_itself() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    let bad: [Vec<u8>; 9] = [
        b"{".to_vec(),
        b"[]".to_vec(),
        frame(json!({"v": "2"})),
        frame(json!({"ts_emit": "now"})),
        frame(json!({"session_id": ""})),
        frame(json!({"decision": "maybe"})),
        frame(json!({"drop_count": -1})),
        String::from_utf8(frame(json!({"input": "X"}))).unwrap().replace("\"X\"", "1e400").into(),
        String::from_utf8(frame(json!({}))).unwrap().replace("{\"", "{\"v\":\"1\",\"").into(),
    ];
    for body in &bad {
        stream.write_all(&framed(body)).unwrap();
    }
    send(&mut stream, json!({"sandbox_id": "one"}));
    let receipts = fixture.await_receipts(2);
    assert_eq!(receipts.len(), 2);
    assert_eq!(receipts[1]["credentialSubject"]["chain"]["sequence"], 1);
    let (_, said) = daemon.end(Signal::SIGTERM);
    assert_eq!(said.matches("frame refused").count(), bad.len(), "{said}");
    fixture.assert_valid();
}

#[test]
fn who_sends_is_the_kernels_word() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let lie = json!({"peer_credential": {"pid": 1}, "pid": 1, "risk_level": "low",
        "action_type": "system.pty.open", "issuer_name": "me"});
    send(&mut connect(&fixture), lie);
    let action = fixture.await_receipts(2)[1]["credentialSubject"]["action"].clone();
    let exe = std::env::current_exe().unwrap();
    let peer = json!({"platform": "linux", "pid": std::process::id(),
        "uid": nix::unistd::geteuid().as_raw(), "gid": nix::unistd::getegid().as_raw(),
        "exe_path": exe});
    assert_eq!(action["peer_credential"], peer);
    assert_eq!(action["risk_level"], "critical");
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[rstest]
#[case(json!({"decision": "allowed"}), "success")]
#[case(json!({"decision": "allowed", "error": "it broke"}), "failure")]
#[case(json!({"decision": "denied"}), "failure")]
#[case(json!({"decision": "pending"}), "pending")]
fn what_became_of_it(#[case] with: Value, #[case] status: &str) {
    let fixture = DaemonFixture::new();
    let _daemon = fixture.start(&[]);
    send(&mut connect(&fixture), with.clone());
    let outcome = fixture.await_receipts(2)[1]["credentialSubject"]["outcome"].clone();
    assert_eq!(outcome["status"], status);
    assert_eq!(outcome["error"], with["error"]);
}

#[test]
fn every_member_has_its_place_and_payloads_are_hashes_only() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    send(
        &mut stream,
        json!({"tool": {"name": "t", "server": "srv"}, "channel": "c",
        "input": {"command": "ls -la"}, "output": {"exit_code": 0},
        "issuer_name": "n", "issuer_model": "m", "operator_id": "o", "operator_name": "on",
        "idempotency_key": "i", "correlation_id": "k", "agent_type": "at", "model": "mm",
        "capture_method": "cm", "target_system": "ts", "target_resource": "tr",
        "usage": {"tokens": 5, "none": null}}),
    );
    send(&mut stream, json!({"input": null, "output": {}}));
    let receipts = fixture.await_receipts(3);
    assert_eq!(each(&receipts[1..], ACTION), ["c.srv.t", "opensandbox_execd.command"]);
    let (issuer, subject) = (&receipts[1]["issuer"], &receipts[1]["credentialSubject"]);
    assert_eq!(issuer["operator"], json!({"id": "o", "name": "on"}));
    assert_eq!(
        (&issuer["name"], &issuer["model"], &issuer["session_id"]),
        (&json!("n"), &json!("m"), &json!("s"))
    );
    assert_eq!(
        issuer["runtime"],
        json!({"channel": "c", "agent_type": "at", "model": "mm",
        "capture_method": "cm", "usage": {"tokens": 5}})
    );
    let action = &subject["action"];
    assert_eq!(action["target"], json!({"system": "ts", "resource": "tr"}));
    assert_eq!(
        (&action["idempotency_key"], &subject["correlation_id"]),
        (&json!("i"), &json!("k"))
    );
    let hashes = [
        "1df8bccaec747dc615b50678f35bf5b51756a45f9b2b77b247c7a617fde58b3e",
        "e81bc160c0843ee56f31f12997bb3aff50528d596002d4866676cb8a1b19195a",
    ]
    .map(|hex| format!("sha256:{hex}"));
    assert_eq!(
        (&action["parameters_hash"], &subject["outcome"]["response_hash"]),
        (&json!(hashes[0]), &json!(hashes[1]))
    );
    let second = &receipts[2]["credentialSubject"];
    assert!(second["action"].get("parameters_hash").is_none());
    let empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(second["outcome"]["response_hash"], empty);
    assert!(!String::from_utf8(fixture.bytes()).unwrap().contains("ls -la"));
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}
