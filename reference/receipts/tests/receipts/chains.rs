//! Chains below the root, their anchors, and what restarts do to them.

use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{ACTION, CHAIN, DaemonFixture, SEQUENCE, connect, each, send};

const ANCHOR: &str = "/credentialSubject/delegation";

fn receipts_of_chain<'a>(receipts: &'a [Value], chain: &str) -> Vec<&'a Value> {
    receipts.iter().filter(|receipt| receipt.pointer(CHAIN) == Some(&json!(chain))).collect()
}

#[test]
fn two_sandboxes_are_two_chains_anchored_at_the_tip_of_then() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    for sandbox in [Some("a"), None, Some("b"), Some("a"), None, Some("b")] {
        send(&mut stream, sandbox.map_or(json!({}), |id| json!({"sandbox_id": id})));
    }
    let receipts = fixture.await_receipts(7);
    for (chain, tip) in [("root/sandbox/a", 0), ("root/sandbox/b", 2)] {
        let mine = receipts_of_chain(&receipts, chain);
        assert_eq!(
            mine.iter().map(|r| &r["credentialSubject"]["chain"]["sequence"]).collect::<Vec<_>>(),
            [1, 2]
        );
        let anchor = json!({"parent_chain_id": "root", "parent_receipt_id": receipts[tip]["id"],
            "delegator": {"id": receipts[0]["issuer"]["id"]}});
        assert_eq!(mine[0].pointer(ANCHOR), Some(&anchor));
        assert_eq!(mine[1].pointer(ANCHOR), None);
        let binding = &mine[0]["issuer"]["runtime"]["binding"];
        assert_eq!(*binding, json!({"sandbox_id": &chain[13..]}));
    }
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[rstest]
#[case("wire")]
#[case("adr")]
fn where_a_profile_puts_what_the_format_does_not_know(#[case] profile: &str) {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&["--profile", profile]);
    let binding = json!({"sandbox_id": "a", "endpoint": "/pty"});
    let coverage = json!({"covers": ["command"], "excludes": [], "placement": "execd",
        "opensandbox_version": "1.0.19"});
    send(
        &mut connect(&fixture),
        json!({"sandbox_id": "a", "binding": binding,
        "coverage": coverage, "correlation_id": "k"}),
    );
    let receipts = fixture.await_receipts(2);
    let (root, receipt) = (&receipts[0], &receipts[1]);
    let (subject, runtime) = (&receipt["credentialSubject"], &receipt["issuer"]["runtime"]);
    assert_eq!(
        (&subject["correlation_id"], &runtime["channel"]),
        (&json!("k"), &json!("opensandbox_execd"))
    );
    let read = boxproof_receipts::parsed_receipt::read(root.to_string().as_bytes()).unwrap();
    let parent = json!({"chain_id": "root", "receipt_id": root["id"], "sequence": 1,
        "receipt_hash": read.hash});
    let found = [
        &runtime["binding"],
        &runtime["coverage"],
        &subject["binding"],
        &subject["coverage"],
        &subject["correlator"],
        &subject["parentChainRef"],
    ];
    let none = json!(null);
    let expected = match profile {
        "wire" => [&binding, &coverage, &none, &none, &none, &none],
        _ => [&none, &none, &binding, &coverage, &json!("k"), &parent],
    };
    assert_eq!(found, expected);
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[rstest]
#[case(Signal::SIGTERM)]
#[case(Signal::SIGINT)]
fn a_signal_ends_every_open_chain_and_the_next_start_opens_new_ones(#[case] signal: Signal) {
    let fixture = DaemonFixture::new();
    for round in 1..=3 {
        let daemon = fixture.start(&[]);
        let before = fixture.receipts().len();
        send(&mut connect(&fixture), json!({"sandbox_id": "a"}));
        fixture.await_receipts(before + 1);
        let (status, said) = daemon.end(signal);
        assert!(status.success(), "{said}");
        let root = if round == 1 { "root".to_owned() } else { format!("root-{round}") };
        let receipts = fixture.receipts();
        let last = &receipts[receipts.len() - 4..];
        let sandbox = format!("{root}/sandbox/a");
        assert_eq!(
            each(last, CHAIN),
            [&root, &sandbox, &sandbox, &root].map(|id| json!(id)).each_ref()
        );
        assert_eq!(each(last, SEQUENCE), [1, 1, 2, 2]);
        for end in &last[2..] {
            assert_eq!(end.pointer(ACTION).unwrap(), "agent_receipts.chain_interrupted");
            let subject = &end["credentialSubject"];
            assert_eq!(
                (&subject["chain"]["terminal"], &subject["chain"]["status"]),
                (&json!(true), &json!("interrupted"))
            );
            assert_eq!(subject["principal"]["id"], "did:user:unknown");
            assert_eq!(subject["action"]["risk_level"], "low");
            assert!(subject["action"].get("peer_credential").is_none());
        }
    }
    let report = fixture.assert_valid();
    assert!(report.chains.iter().all(|chain| chain.status == "interrupted"));
    assert_eq!(report.chains.len(), 6);
    for missing in report.chains.iter().map(|chain| &chain.chain_id) {
        // Nothing follows the last root that could tell of it but a chain below it.
        assert_eq!(without(&fixture, missing), "chain_missing", "{missing}");
    }
}

/// Returns the findings for a store from which a whole chain was removed.
fn without(fixture: &DaemonFixture, chain: &str) -> String {
    let receipts = fixture.receipts();
    let kept = receipts.iter().filter(|receipt| receipt.pointer(CHAIN).unwrap() != chain);
    let lines: String = kept.map(|receipt| format!("{receipt}\n")).collect();
    let report = crate::support::report(lines.as_bytes(), &fixture.key(), true);
    assert!(!report.valid);
    report.findings[0].name.to_owned()
}

#[test]
fn what_was_sent_before_the_signal_is_stored() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    let mut stream = connect(&fixture);
    // Fewer than the socket holds; all of them are with the kernel when the signal comes.
    (0..20).for_each(|_| send(&mut stream, json!({})));
    daemon.end(Signal::SIGTERM);
    let live =
        fixture.receipts().iter().filter(|r| r.to_string().contains("execd.command")).count();
    assert_eq!(live, 20);
    fixture.assert_valid();
}

#[test]
fn a_killed_daemon_goes_on_where_it_was() {
    let fixture = DaemonFixture::new();
    for round in 0..3 {
        let daemon = fixture.start(&[]);
        send(&mut connect(&fixture), json!({"sandbox_id": "a"}));
        fixture.await_receipts(2 * (round + 1));
        daemon.end(Signal::SIGKILL);
    }
    let receipts = fixture.receipts();
    assert_eq!(
        each(&receipts, CHAIN),
        ["root", "root/sandbox/a", "root", "root/sandbox/a", "root", "root/sandbox/a"]
    );
    assert_eq!(each(&receipts, SEQUENCE), [1, 1, 2, 2, 3, 3]);
    assert_eq!(receipts.iter().filter(|r| r.pointer(ANCHOR).is_some()).count(), 1);
    let report = fixture.assert_valid();
    assert!(report.chains.iter().all(|chain| chain.status == "unknown"));
}

#[test]
fn a_daemon_killed_while_it_ended_its_chains_is_finished_by_the_next() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    send(&mut connect(&fixture), json!({"sandbox_id": "a"}));
    send(&mut connect(&fixture), json!({"sandbox_id": "b"}));
    fixture.await_receipts(3);
    daemon.end(Signal::SIGTERM);
    // The last write is cut after its first line: as if it had been torn there.
    let bytes = fixture.bytes();
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    std::fs::write(fixture.path("store"), lines[..4].concat()).unwrap();
    let daemon = fixture.start(&[]);
    send(&mut connect(&fixture), json!({"sandbox_id": "a"}));
    let receipts = fixture.await_receipts(8);
    let chains = ["root/sandbox/a", "root/sandbox/b", "root", "root-2", "root-2/sandbox/a"];
    assert_eq!(each(&receipts[3..], CHAIN), chains);
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}

#[test]
fn an_agent_that_names_itself_has_a_chain_too() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&["--chain", "base"]);
    send(&mut connect(&fixture), json!({"agent_id": "a1"}));
    let receipts = fixture.await_receipts(2);
    assert_eq!(each(&receipts, CHAIN), ["base", "base/agent/a1"]);
    assert!(receipts[1].pointer(ANCHOR).is_some());
    daemon.end(Signal::SIGTERM);
    fixture.assert_valid();
}
