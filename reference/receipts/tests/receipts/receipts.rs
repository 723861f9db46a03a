//! Export: what was stored, byte for byte, whole lines, by chain.

use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{DaemonFixture, connect, send};

fn export(fixture: &DaemonFixture, more: &[&str]) -> (Option<i32>, Vec<u8>) {
    let mut refbox = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
    refbox.args(["export", "--store"]).arg(fixture.path("store")).args(more);
    let output = refbox.output().unwrap();
    (output.status.code(), output.stdout)
}

#[test]
fn receipts_come_out_as_they_were_stored() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    for sandbox in ["a", "b", "a"] {
        send(&mut stream, json!({"sandbox_id": sandbox}));
    }
    fixture.await_receipts(4);
    // Also while the daemon runs.
    assert_eq!(export(&fixture, &[]), (Some(0), fixture.bytes()));
    daemon.end(Signal::SIGKILL);
    let (_, mine) = export(&fixture, &["--chain", "root/sandbox/a"]);
    let lines: Vec<&[u8]> = mine.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert!(fixture.bytes().windows(line.len()).any(|part| part == line));
        let text = &line[..line.len() - 1];
        let value: serde_json::Value = serde_json::from_slice(text).unwrap();
        let canonical = boxproof_receipts::canonical::canonical(&value).unwrap();
        assert_eq!(text, canonical, "RFC 8785 text");
    }
    let mut torn = fixture.bytes();
    torn.truncate(torn.len() - 10);
    std::fs::write(fixture.path("store"), &torn).unwrap();
    assert_eq!(export(&fixture, &[]), (Some(0), fixture.bytes()));
    assert_eq!(export(&fixture, &["--chain", "none"]), (Some(0), Vec::new()));
    std::fs::remove_file(fixture.path("store")).unwrap();
    assert_eq!(export(&fixture, &[]).0, Some(2));
}
