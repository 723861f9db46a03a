//! Verification of one chain, in the words that all verifiers share; and the verb.

use std::collections::BTreeMap;
use std::process::Command;

use boxproof_receipts::verify::{ChainExpectations, verify};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{DaemonFixture, Forge, set};

fn three() -> Forge {
    let mut forge = Forge::new();
    forge.add(json!({})).add(json!({})).add(json!({}));
    forge
}

/// Every member of a receipt that the signature covers.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| leaves(value, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, value)| leaves(value, &format!("{at}/{n}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn no_signed_member_can_be_edited() {
    let forge = three();
    let mut paths = Vec::new();
    leaves(&forge.receipts[1], "", &mut paths);
    paths.retain(|path| !path.starts_with("/proof"));
    assert!(paths.len() > 15, "{paths:?}");
    for path in paths {
        let mut edited = three();
        let new = match edited.receipts[1].pointer(&path).unwrap() {
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            _ => json!("edited"),
        };
        set(&mut edited.receipts[1], &path, &new);
        let found =
            verify(&edited.readings(), &edited.key.verifying_key(), &ChainExpectations::default());
        assert!(!found.receipts[1].signature_valid, "{path}");
        assert!(!found.valid);
    }
}

#[test]
fn a_removed_a_repeated_and_a_moved_receipt() {
    let check = |change: fn(&mut Vec<Value>), at: usize, link: bool, sequence: bool| {
        let mut forge = three();
        change(&mut forge.receipts);
        let report = forge.report(false);
        let checked = &report.chains[0].receipts[at];
        assert!(!report.valid);
        assert_eq!(report.chains[0].broken_at, i64::try_from(at).unwrap());
        assert!(checked.signature_valid);
        assert_eq!((checked.hash_link_valid, checked.sequence_valid), (link, sequence));
    };
    check(|all| drop(all.remove(1)), 1, false, false);
    check(|all| all.insert(1, all[1].clone()), 2, false, false);
    check(|all| all.swap(1, 2), 1, false, false);
    check(|all| drop(all.remove(0)), 0, false, true);
}

const AFTER: &str =
    "receipt after terminal: receipt at index 1 follows a terminal receipt at index 0";

#[rstest]
#[case::after_end(json!({"/credentialSubject/chain/terminal": true}), json!({}), AFTER, 1)]
#[case::status_alone(json!({"/credentialSubject/chain/status": "complete"}), json!({}),
    "chain.status without chain.terminal: true at index 0 (spec §7.3.3)", 0)]
#[case::status_unknown(json!({}),
    json!({"/credentialSubject/chain/terminal": true, "/credentialSubject/chain/status": "unknown"}),
    "invalid chain.status value at index 1: unknown is not a valid wire value (spec §7.3.3)", 1)]
#[case::proof_type(json!({"/proof/type": "X"}), json!({}),
    "signature compute failed at index 0: unsupported proof type \"X\": only Ed25519Signature2020 is accepted", 0)]
#[case::lowest_index(json!({"/credentialSubject/chain/status": "x"}), json!({"/proof/type": "X"}),
    "invalid chain.status value at index 0: x is not a valid wire value (spec §7.3.3)", 0)]
#[case::signature_before_schema(json!({"/credentialSubject/chain/status": "x", "/proof/type": "X"}), json!({}),
    "signature compute failed at index 0: unsupported proof type \"X\": only Ed25519Signature2020 is accepted", 0)]
#[case::error_before_end(json!({"/credentialSubject/chain/terminal": true, "/proof/type": "X"}), json!({}),
    "signature compute failed at index 0: unsupported proof type \"X\": only Ed25519Signature2020 is accepted", 0)]
#[case::null_link(json!({}), json!({"/credentialSubject/chain/previous_receipt_hash": null}), "", 1)]
fn what_is_wrong_with_a_chain(
    #[case] first: Value,
    #[case] second: Value,
    #[case] error: &str,
    #[case] broken_at: i64,
) {
    let mut forge = Forge::new();
    let found = verify(
        &forge.add(first).add(second).readings(),
        &forge.key.verifying_key(),
        &ChainExpectations::default(),
    );
    assert_eq!((found.valid, found.error.as_str(), found.broken_at), (false, error, broken_at));
}

#[test]
fn a_receipt_of_another_chain_is_a_splice() {
    let mut forge = three();
    forge.receipts.pop();
    forge.add(json!({"/credentialSubject/chain/chain_id": "other"}));
    let report = forge.report(false);
    assert_eq!(report.chains.len(), 1);
    let found = &report.chains[0];
    assert_eq!(
        (found.broken_at, found.error.as_str()),
        (2, "chain_id mismatch at index 2: expected \"forged\", got \"other\"")
    );
}

#[test]
fn what_only_an_outsider_knows() {
    let forge = three();
    let (readings, key) = (forge.readings(), forge.key.verifying_key());
    let error = |options: ChainExpectations| verify(&readings, &key, &options).error;
    let length = |n| ChainExpectations { expected_length: Some(n), ..ChainExpectations::default() };
    assert_eq!(error(length(4)), "expected chain length does not match: expected 4, got 3");
    assert_eq!(error(length(3)), "");
    let last = readings[2].hash.clone();
    let hash = |text: &str| ChainExpectations {
        expected_final_hash: Some(text.to_owned()),
        ..ChainExpectations::default()
    };
    assert_eq!(error(hash(&last)), "");
    assert_eq!(
        error(hash("sha256:0")),
        format!("final receipt hash mismatch at index 2: expected sha256:0, got {last}")
    );
    let empty = verify(&[], &key, &length(1));
    assert_eq!(
        (empty.error.as_str(), empty.status),
        ("expected chain length does not match: expected 1, got 0", "unknown")
    );
    let terminal = ChainExpectations { require_terminal: true, ..ChainExpectations::default() };
    assert!(!verify(&[], &key, &terminal).valid && !verify(&[], &key, &hash(&last)).valid);
    let empty = verify(&[], &key, &ChainExpectations::default());
    assert!(empty.valid && empty.status == "unknown");
    // Without a word from outside a cut tail is not seen.
    assert!(verify(&readings[..2], &key, &ChainExpectations::default()).valid);
}

#[test]
fn responses_that_are_supplied_are_compared() {
    let mut forge = Forge::new();
    let hash = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let readings = forge.add(json!({"/credentialSubject/outcome/response_hash": hash})).readings();
    let with = |bodies: &[&str]| {
        let id = readings[0].body.id.clone();
        let bodies: BTreeMap<_, _> =
            bodies.iter().map(|body| (id.clone(), body.as_bytes().to_vec())).collect();
        verify(
            &readings,
            &forge.key.verifying_key(),
            &ChainExpectations { bodies, ..ChainExpectations::default() },
        )
    };
    let found = with(&["{}"]);
    assert!(found.valid && found.response_hash_note.is_empty());
    let found = with(&["[]"]);
    assert!(found.error.starts_with(&format!(
        "response_hash mismatch at index 0: receipt has {hash}, body hashes to sha256:"
    )));
    assert!(with(&["{"]).error.starts_with("response_hash parse failed at index 0: "));
    let found = with(&[]);
    assert!(found.valid && found.response_hash_note.contains("not supplied"));
}

#[test]
fn a_call_without_a_result_is_an_advisory() {
    let mut forge = three();
    let report = forge.add(json!({"/credentialSubject/outcome/status": "pending"})).report(false);
    assert!(report.valid && report.chains[0].incomplete_tool_roundtrip);
    assert!(!three().report(false).chains[0].incomplete_tool_roundtrip);
}

#[rstest]
#[case::empty("")]
#[case::blank("\n \t\r\n\n")]
fn nothing_is_not_valid(
    #[case] lines: &str,
    #[values(&[][..], &["--strict"], &["--require-terminal"], &["--provenance"],
        &["--expected-final-hash", "sha256:00"], &["--expected-length", "0"],
        &["--format", "json"])]
    more: &[&str],
) {
    assert_eq!(verb(lines, more), (Some(2), String::new()));
}

/// Runs the verb on a forged file.
fn verb(lines: &str, more: &[&str]) -> (Option<i32>, String) {
    let fixture = DaemonFixture::new();
    let (file, key) = (fixture.path("file.jsonl"), fixture.path("forge.pub"));
    std::fs::write(&file, lines).unwrap();
    let pem = {
        use ed25519_dalek::pkcs8::{EncodePublicKey, spki::der::pem::LineEnding};
        Forge::new().key.verifying_key().to_public_key_pem(LineEnding::LF).unwrap()
    };
    std::fs::write(&key, pem).unwrap();
    let mut refbox = Command::new(env!("CARGO_BIN_EXE_boxproof-receipts"));
    refbox.args(["verify", "--key"]).arg(key).args(more).arg(file);
    let output = refbox.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_verb_tells_and_exits() {
    let good = three().lines();
    let (code, text) = verb(&good, &[]);
    assert_eq!((code, text.matches(" ok\n").count()), (Some(0), 3), "{text}");
    let (code, text) = verb(&good.replace("high", "low"), &[]);
    assert_eq!((code, text.matches(" BAD SIGNATURE\n").count()), (Some(1), 3), "{text}");
    assert_eq!(verb(&good, &["--expected-length", "2"]).0, Some(1));
    assert_eq!(verb(&good, &["--require-terminal"]).0, Some(1));
    assert_eq!(verb(&good, &["--chain", "none"]).0, Some(2));
    assert_eq!(verb(&good, &["--key", "none"]).0, Some(2));
    let (code, text) = verb("{}\n", &["--format", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, &report["valid"], &report["malformed"][0]["line"]),
        (Some(1), &json!(false), &json!(1))
    );
    let (code, text) = verb(&good, &["--format", "json", "--strict"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["valid"], &report["findings"]), (Some(0), &json!(true), &json!([])));
}
