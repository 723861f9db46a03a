//! Placement B: connections that a hook on the host saw, as receipts.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::DaemonFixture;

fn observe(fixture: &DaemonFixture, lines: &str) -> Output {
    let mut refbox = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
    refbox.args(["observer", "--sandbox-id", "a", "--socket"]).arg(fixture.socket());
    refbox.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = refbox.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

const ALLOWED: &str = "{\"dst_addr\":\"203.0.113.7\",\"dst_port\":443,\"protocol\":\"tcp\",\"bytes_out\":1024,\"verdict\":\"allowed\"}\n";
const BLOCKED: &str = "{\"dst_addr\":\"2001:db8::1\",\"dst_port\":53,\"protocol\":\"udp\",\"bytes_out\":0,\"verdict\":\"blocked\"}\n";

#[test]
fn connections_become_receipts_of_the_sandbox() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let output = observe(&fixture, &format!("{ALLOWED}{BLOCKED}"));
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ready\n"[..]));
    let receipts = fixture.await_receipts(3);
    let [allowed, blocked] = [&receipts[1], &receipts[2]].map(|r| &r["credentialSubject"]);
    let action = &allowed["action"];
    assert_eq!(
        (&action["type"], &action["risk_level"]),
        (&json!("network.egress.observed"), &json!("medium"))
    );
    let hash = |hex: &str| json!(format!("sha256:{hex}"));
    assert_eq!(
        action["parameters_hash"],
        hash("591536eeaf4ac0ff2bab6ce45bea32b58722bc62dc96a894539292b5d9488249")
    );
    assert_eq!(
        allowed["outcome"],
        json!({"status": "success",
        "response_hash": hash("7481739b82017b4f1bb79f8599d304d19902d406d17288fef49d727024c5c996")})
    );
    assert_eq!(blocked["outcome"]["status"], "failure");
    let runtime = &receipts[1]["issuer"]["runtime"];
    assert_eq!(runtime["binding"], json!({"sandbox_id": "a", "placement": "ingress_egress"}));
    assert_eq!(
        runtime["coverage"],
        json!({"covers": ["network_egress"], "placement": "ingress_egress",
        "excludes": ["command", "code", "files", "directories", "pty"]})
    );
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[test]
fn what_cannot_be_told_is_said_and_counted() {
    let fixture = DaemonFixture::new();
    let output = observe(&fixture, ALLOWED);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("line 1: not told of: transport_error")
    );
    let daemon = fixture.start(&[]);
    let name = ALLOWED.replace("203.0.113.7", "example.com");
    let more = ALLOWED.replace("{", "{\"via\":1,");
    let output = observe(&fixture, &format!("{name}{more}{ALLOWED}"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 2), "{said}");
    assert!(said.contains("line 1: not told of: dst_addr: invalid IP address"), "{said}");
    assert!(said.contains("line 2: not told of: via: unknown field `via`"), "{said}");
    assert_eq!(fixture.await_receipts(2).len(), 2);
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}
