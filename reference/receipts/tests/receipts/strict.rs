//! Strict reading: each rule has a name, and a receipt that other verifiers accept breaks it.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::Forge;

fn names(forge: &Forge) -> Vec<String> {
    let lenient = forge.report(false);
    assert!(lenient.valid, "others accept it: {lenient:#?}");
    let report = forge.report(true);
    assert_eq!(report.valid, report.findings.is_empty());
    report.findings.iter().map(|finding| format!("{} {}", finding.line, finding.name)).collect()
}

#[rstest]
#[case::nothing(json!({}), json!({}), &[])]
#[case::issuer(json!({}), json!({"/issuer/id": "did:agent:other"}), &["2 issuer_change", "2 method_change"])]
#[case::same_id(json!({}), json!({"/id": "urn:receipt:00000000-0000-4000-8000-000000000001"}), &["2 duplicate_receipt_id"])]
#[case::time(json!({}), json!({"/issuanceDate": "2025-12-31T23:59:59Z"}), &["2 time_reversal"])]
#[case::purpose(json!({}), json!({"/proof/proofPurpose": "authentication"}), &["2 proof_purpose"])]
#[case::method(json!({}), json!({"/proof/verificationMethod": "did:agent:forge#key-2"}), &["2 method_change"])]
#[case::foreign_method(json!({"/proof/verificationMethod": "did:agent:x#key-1"}), json!({"/proof/verificationMethod": "did:agent:x#key-1"}), &["1 verification_method", "2 verification_method"])]
#[case::created(json!({"/proof/created": "2026-01-01T00:00:01Z"}), json!({}), &["1 proof_created"])]
#[case::context(json!({"/version": "0.4.0"}), json!({}), &["1 context_version"])]
#[case::two_emitters(json!({"/issuer/session_id": "one"}), json!({"/issuer/session_id": "two"}), &[])]
#[case::number_missing(json!({"/issuer/runtime": {"event_number": 1}}), json!({"/issuer/runtime": {"event_number": 3}}), &["2 events_missing"])]
#[case::number_twice(json!({"/issuer/runtime": {"event_number": 4}}), json!({"/issuer/runtime": {"event_number": 4}}), &["2 event_repeated"])]
#[case::numbers(json!({"/issuer/runtime": {"event_number": 4}}), json!({"/issuer/runtime": {"event_number": 5}}), &[])]
#[case::number_of_another_session(json!({"/issuer/runtime": {"event_number": 1}}), json!({"/issuer/session_id": "two", "/issuer/runtime": {"event_number": 3}}), &[])]
#[case::unnamed_session(json!({"/issuer/session_id": "one"}), json!({}), &[])]
#[case::double(json!({"/issuer/runtime": {"usage": 1e300}}), json!({"/issuer/runtime": {"usage": 9007199254740991_u64}}), &[])]
fn findings(#[case] first: Value, #[case] second: Value, #[case] expected: &[&str]) {
    let mut forge = Forge::new();
    assert_eq!(names(forge.add(first).add(second)), expected);
}

#[test]
fn a_chain_that_begins_later() {
    let mut forge = Forge::new();
    forge.add(json!({"/credentialSubject/chain/sequence": 7}));
    assert_eq!(names(&forge), ["1 genesis_sequence"]);
}

/// The count of dropped events before a receipt explains so many numbers, and no more.
#[rstest]
#[case(2, &[])]
#[case(1, &["3 events_missing"])]
fn numbers_that_are_told_as_lost(#[case] told: u64, #[case] expected: &[&str]) {
    let (kind, runtime) = ("/credentialSubject/action/type", "/issuer/runtime");
    let mut forge = Forge::new();
    forge.add(json!({runtime: {"event_number": 1}}));
    forge.add(json!({kind: "agent_receipts.events_dropped",
        "/credentialSubject/action/emitter_metadata": {"drop_count": told}}));
    forge.add(json!({runtime: {"event_number": 4}}));
    assert_eq!(names(&forge), expected);
}

#[test]
fn a_whole_store_has_the_first_number() {
    let mut forge = Forge::new();
    forge.add(json!({"/credentialSubject/action/type": "agent_receipts.daemon_started"}));
    forge.add(json!({"/issuer/runtime": {"event_number": 2}}));
    assert_eq!(names(&forge), ["2 events_missing"]);
}

#[test]
fn a_member_that_is_there_twice() {
    let mut forge = Forge::new();
    let line = forge.add(json!({})).lines().replacen('{', "{\"version\":\"0.1.0\",", 1);
    let key = forge.key.verifying_key();
    assert!(crate::support::report(line.as_bytes(), &key, false).valid);
    let report = crate::support::report(line.as_bytes(), &key, true);
    assert_eq!(report.findings[0].name, "duplicate_member");
    assert!(!report.valid);
}

/// Each of these is signed as it is, so that only the schema can tell.
#[rstest]
#[case("/extra", json!(1))]
#[case("/issuer/extra", json!(1))]
#[case("/credentialSubject/action/extra", json!(1))]
#[case("/credentialSubject/action/channel", json!("opensandbox_execd"))]
#[case("/credentialSubject/action/drop_count", json!(1))]
#[case("/credentialSubject/chain/parentChainRef", json!({}))]
#[case("/credentialSubject/outcome/extra", json!(1))]
#[case("/credentialSubject/principal/extra", json!(1))]
#[case("/proof/extra", json!(1))]
#[case("/id", json!("urn:receipt:1"))]
#[case("/@context/0", json!("https://www.w3.org/2018/credentials/v1"))]
#[case("/type/1", json!("Receipt"))]
#[case("/issuanceDate", json!("today"))]
#[case("/credentialSubject/action/id", json!("act_1"))]
#[case("/credentialSubject/action/risk_level", json!("none"))]
#[case("/credentialSubject/action/timestamp", json!("REMOVED"))]
#[case("/credentialSubject/action/risk_level", json!("REMOVED"))]
#[case("/credentialSubject/action/id", json!("REMOVED"))]
#[case("/credentialSubject/action/type", json!("unknown"))]
#[case("/credentialSubject/action/parameters_hash", json!("sha256:0"))]
#[case("/credentialSubject/action/peer_credential", json!({"platform": "linux"}))]
#[case("/credentialSubject/action/peer_credential", json!({"platform": "linux", "pid": 1, "uid": -1}))]
#[case("/credentialSubject/action/emitter_metadata", json!({"drop_count": -1}))]
#[case("/credentialSubject/action/idempotency_key", json!(""))]
#[case("/credentialSubject/outcome/status", json!("done"))]
#[case("/credentialSubject/correlation_id", json!(""))]
#[case("/credentialSubject/principal/id", json!("REMOVED"))]
#[case("/issuer/operator", json!({"id": "o"}))]
#[case("/proof/proofPurpose", json!("REMOVED"))]
fn the_schema(#[case] pointer: &str, #[case] value: Value) {
    let mut forge = Forge::new();
    forge.add(json!({pointer: value}));
    let found = names(&forge);
    assert!(found.contains(&"1 schema".to_owned()), "{found:?}");
}

#[test]
fn what_the_published_daemon_adds_is_a_warning() {
    let mut forge = Forge::new();
    forge.add(json!({"/credentialSubject/action/tool_name": "command"}));
    let report = forge.report(true);
    assert!(report.valid);
    assert_eq!(report.warnings, ["line 1: action.tool_name is not in the schema"]);
}

/// Other readers take the one number for the other, so that the signature would hold.
#[rstest]
#[case::changed("9007199254740993")]
#[case::signed_as_it_is("9007199254740992")]
fn a_number_that_not_every_reader_takes_for_the_same(
    #[case] stored: &str,
    #[values(false, true)] strict: bool,
) {
    let mut forge = Forge::new();
    let usage = json!({"/issuer/runtime": {"usage": {"tokens": 9_007_199_254_740_992_u64}}});
    let lines = forge.add(usage).add(json!({})).lines();
    let lines = lines.replace("9007199254740992", stored);
    let report = crate::support::report(lines.as_bytes(), &forge.key.verifying_key(), strict);
    assert!(!report.valid && report.chains[0].error.contains(stored), "{report:#?}");
    let named = report.findings.iter().any(|finding| finding.name == "inexact_number");
    assert_eq!(named, strict);
}

/// A chain of a sandbox has one session for each placement.
#[rstest]
#[case::another_session(json!({}), &["3 chain_missing", "4 session_mix"])]
#[case::of_another_placement(json!({"binding": {"placement": "ingress_egress"}}), &["3 chain_missing"])]
fn sessions_of_a_sandbox(#[case] runtime: Value, #[case] expected: &[&str]) {
    let mut forge = Forge::new();
    let (id, session) = ("/credentialSubject/chain/chain_id", "/issuer/session_id");
    forge.add(json!({id: "root"})).add(json!({id: "root"}));
    let delegation = json!({"parent_chain_id": "other", "delegator": {"id": "did:agent:forge"},
        "parent_receipt_id": "urn:receipt:00000000-0000-4000-8000-000000000001"});
    forge.add(json!({id: "other/sandbox/a", session: "one",
        "/credentialSubject/delegation": delegation, "/credentialSubject/chain/sequence": 1,
        "/credentialSubject/chain/previous_receipt_hash": null}));
    forge.add(json!({id: "other/sandbox/a", session: "two", "/issuer/runtime": runtime,
        "/credentialSubject/chain/sequence": 2}));
    assert_eq!(names(&forge), expected);
}

/// Two receipts of a root that has ended, then a chain below it.
#[rstest]
#[case::all_there(json!({"chains_ended": 1}), true, &[])]
#[case::one_more_ended(json!({"chains_ended": 2}), true, &["2 chain_missing"])]
#[case::no_end(json!({"chains_ended": 1}), false, &["3 end_missing"])]
#[case::no_end_and_no_count(json!({}), false, &["3 end_missing"])]
#[case::a_root_before(json!({"chains_ended": 1, "previous_chain": {"chain_id": "root-0", "receipt_hash": "sha256:0"}}), true, &["2 chain_missing"])]
#[case::another_end(json!({"chains_ended": 1, "previous_chain": {"chain_id": "root/sandbox/a", "receipt_hash": "sha256:0"}}), true, &["2 chain_missing"])]
fn chains_that_tell_of_each_other(
    #[case] runtime: Value,
    #[case] ended: bool,
    #[case] expected: &[&str],
) {
    let mut forge = Forge::new();
    let (id, terminal) = ("/credentialSubject/chain/chain_id", "/credentialSubject/chain/terminal");
    forge.add(json!({id: "root"}));
    forge.add(json!({id: "root", terminal: true, "/issuer/runtime": runtime}));
    let delegation = json!({"parent_chain_id": "root", "delegator": {"id": "did:agent:forge"},
        "parent_receipt_id": "urn:receipt:00000000-0000-4000-8000-000000000001"});
    let mut last = json!({id: "root/sandbox/a", "/credentialSubject/delegation": delegation,
        "/credentialSubject/chain/sequence": 1,
        "/credentialSubject/chain/previous_receipt_hash": null});
    if ended {
        last[terminal] = true.into();
    }
    assert_eq!(names(forge.add(last)), expected);
}

/// A root of two receipts, then a chain below it that is changed by `with`.
fn below(with: Value, root: usize) -> Vec<String> {
    let mut forge = Forge::new();
    for _ in 0..2 {
        forge.add(json!({"/credentialSubject/chain/chain_id": "root"}));
    }
    let at = forge.readings().swap_remove(root);
    let mut parts = json!({"/credentialSubject/chain/chain_id": "root/sandbox/a",
        "/credentialSubject/chain/sequence": 1, "/credentialSubject/chain/previous_receipt_hash": null,
        "/credentialSubject/delegation": {"parent_chain_id": "root",
            "parent_receipt_id": at.body.id, "delegator": {"id": "did:agent:forge"}},
        "/credentialSubject/parentChainRef": {"chain_id": "root", "receipt_id": at.body.id,
            "sequence": root + 1, "receipt_hash": at.hash}});
    parts.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    names(forge.add(parts))
}

#[rstest]
#[case(json!({}), &[])]
#[case(json!({"/credentialSubject/delegation": "REMOVED"}), &["3 anchor_missing"])]
#[case(json!({"/credentialSubject/delegation/parent_chain_id": "other"}), &["3 anchor_chain"])]
#[case(json!({"/credentialSubject/delegation/parent_receipt_id": "urn:receipt:00000000-0000-4000-8000-000000000009"}), &["3 anchor_unknown"])]
#[case(json!({"/credentialSubject/delegation/delegator/id": "did:agent:x"}), &["3 anchor_issuer"])]
#[case(json!({"/issuanceDate": "2025-01-01T00:00:00Z"}), &["3 anchor_later"])]
#[case(json!({"/credentialSubject/parentChainRef/sequence": 9}), &["3 anchor_reference"])]
#[case(json!({"/credentialSubject/parentChainRef/receipt_hash": "sha256:0"}), &["3 anchor_reference"])]
fn anchors(#[case] with: Value, #[case] expected: &[&str]) {
    assert_eq!(below(with, 1), expected);
}

#[test]
fn an_anchor_that_lies_behind_and_one_that_comes_again() {
    let mut forge = Forge::new();
    let delegation = json!({"parent_chain_id": "root", "delegator": {"id": "did:agent:forge"},
        "parent_receipt_id": "urn:receipt:00000000-0000-4000-8000-000000000003"});
    let id = "/credentialSubject/chain/chain_id";
    let anchor = "/credentialSubject/delegation";
    forge.add(json!({id: "root/sandbox/a", anchor: delegation}));
    forge.add(json!({id: "root/sandbox/a", anchor: delegation}));
    forge.add(json!({id: "root", "/credentialSubject/chain/sequence": 1,
        "/credentialSubject/chain/previous_receipt_hash": null}));
    assert_eq!(names(&forge), ["1 anchor_later", "2 anchor_repeated"]);
}
