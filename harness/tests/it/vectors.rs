//! The published vectors of the Agent Receipts protocol hold for the verifier that judges.

#![expect(clippy::unwrap_used, reason = "a fixture that is not there fails the test")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxproof::receipts::canonical::{canonical, hash, receipt_hash, sha256, signed_text};
use boxproof::receipts::verify::{PlacedReceipt, ReceiptFlaw, key_of, shape_of, verify_chain};
use ed25519_dalek::VerifyingKey;
use rstest::rstest;
use serde_json::Value;

fn vectors(name: &str) -> Value {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/receipts/vectors");
    let text = std::fs::read_to_string(format!("{directory}/{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn text(value: &Value) -> String {
    String::from_utf8(canonical(value).unwrap()).unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn receipts(values: &[Value]) -> Vec<PlacedReceipt> {
    let lines = values.iter().enumerate();
    lines.map(|(at, value)| PlacedReceipt { line: at + 1, value: value.clone() }).collect()
}

fn key(file: &Value) -> VerifyingKey {
    key_of(file["keys"]["publicKey"].as_str().unwrap()).unwrap()
}

fn flaw_codes(flaws: &[ReceiptFlaw]) -> Vec<&'static str> {
    flaws.iter().map(|flaw| flaw.word).collect()
}

#[test]
fn every_file_is_used() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/receipts/vectors");
    let me = include_str!("vectors.rs");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    assert!(files.len() > 10, "{files:?}");
    for name in files.iter().filter(|name| name.ends_with(".json")) {
        assert!(me.contains(&format!("{name:?}")), "{name} is used by no test");
    }
}

#[test]
fn texts_are_those_of_rfc_8785() {
    let file = vectors("canonicalization_vectors.json");
    let all = list(&file["canonicalization_vectors"]);
    assert_eq!(all.len(), 32);
    for vector in all {
        let name = vector["name"].as_str().unwrap();
        // A JSON reader may lose the sign of this one: the file asks for it to be made in code.
        let input =
            if name == "number_negative_zero" { (-0.0).into() } else { vector["input"].clone() };
        assert_eq!(text(&input), vector["canonical"].as_str().unwrap(), "{name}");
        if let Some(due) = vector["expectedHash"].as_str() {
            assert_eq!(hash(&input).unwrap(), due, "{name}");
        }
    }
}

#[test]
fn hashes_of_receipts_are_those_that_are_published() {
    let file = vectors("canonicalization_vectors.json");
    let all = list(&file["receipt_hash_vectors"]);
    assert_eq!(all.len(), 11);
    let first = all[0]["expectedHash"].as_str().unwrap();
    for vector in all.iter().filter(|vector| vector["receipt"].is_object()) {
        let due = vector["expectedHash"].as_str().unwrap();
        let due = if due.starts_with("SAME_AS_") { first } else { due };
        let name = vector["name"].as_str().unwrap();
        assert_eq!(receipt_hash(&vector["receipt"]).unwrap(), due, "{name}");
        if let Some(part) = vector["mustContainSubstring"].as_str() {
            let signed = String::from_utf8(signed_text(&vector["receipt"]).unwrap()).unwrap();
            assert!(signed.contains(part), "{name}");
        }
    }
}

#[rstest]
#[case("go_vectors.json")]
#[case("py_vectors.json")]
#[case("ts_vectors.json")]
fn the_three_kits_agree(#[case] name: &str) {
    let file = vectors(name);
    for what in ["simple", "receipt"] {
        let input = &file["canonicalization"][format!("{what}Input")];
        let due = file["canonicalization"][format!("{what}Expected")].as_str().unwrap();
        assert_eq!(text(input), due);
    }
    let hashing = &file["hashing"];
    let simple = hashing["simpleInput"].as_str().unwrap();
    assert_eq!(sha256(simple.as_bytes()), hashing["simpleExpected"].as_str().unwrap());
    let receipt = &file["canonicalization"]["receiptInput"];
    assert_eq!(hash(receipt).unwrap(), hashing["receiptExpected"].as_str().unwrap());
    let signed = receipts(&[file["signing"]["signed"].clone()]);
    assert_eq!(flaw_codes(&verify_chain(&signed, &key(&file))), [""; 0]);
}

#[rstest]
#[case("v020_vectors.json", &["parametersDisclosureReceipt"])]
#[case("v030_vectors.json", &["parametersDisclosureEnvelopeReceipt", "peerCredentialEmitterMetadataReceipt", "peerCredentialRootReceipt"])]
#[case("v040_vectors.json", &["idempotencyKeyReceipt"])]
#[case("v050_vectors.json", &["runtimeReceipt", "extendedRuntimeReceipt", "rootAgentReceipt"])]
fn each_version_verifies(#[case] name: &str, #[case] members: &[&str]) {
    let file = vectors(name);
    for member in members {
        let vector = &file[*member];
        let due = vector["expectedReceiptHash"].as_str().unwrap();
        assert_eq!(receipt_hash(&vector["receipt"]).unwrap(), due, "{member}");
        let flaws = verify_chain(&receipts(&[vector["receipt"].clone()]), &key(&file));
        assert!(flaws.iter().all(|flaw| flaw.word != "bad_signature"), "{member}: {flaws:?}");
    }
}

#[rstest]
#[case("v020_vectors.json", "terminalChain")]
#[case("v040_vectors.json", "duplicateIdempotencyChain")]
fn chains_verify(#[case] name: &str, #[case] member: &str) {
    let file = vectors(name);
    let chain = receipts(list(&file[member]["receipts"]));
    assert_eq!(flaw_codes(&verify_chain(&chain, &key(&file))), [""; 0], "{member}");
}

#[test]
fn a_response_is_hashed_as_it_was_redacted() {
    let file = vectors("v020_vectors.json");
    let response = &file["responseHash"];
    let due = response["expectedHash"].as_str().unwrap();
    assert_eq!(hash(&response["redactedResponse"]).unwrap(), due);
    assert_ne!(hash(&response["rawResponse"]).unwrap(), due);
}

#[rstest]
#[case("malformed_vectors.json", 6, 1)]
#[case("malformed_vectors.newer.json", 7, 4)]
fn what_must_be_rejected_is(#[case] name: &str, #[case] single: usize, #[case] chained: usize) {
    let file = vectors(name);
    let key = key(&file);
    let (alone, chains) = (list(&file["receipts"]), list(&file["chains"]));
    assert_eq!((alone.len(), chains.len()), (single, chained));
    for vector in alone {
        let receipt = receipts(&[vector["receipt"].clone()]);
        let signature = flaw_codes(&verify_chain(&receipt, &key)).contains(&"bad_signature");
        let lacks = shape_of(&receipt[0]).iter().any(|flaw| flaw.why.ends_with("is missing"));
        assert!(signature || lacks, "{}", vector["name"]);
    }
    for vector in chains {
        let flaws = verify_chain(&receipts(list(&vector["receipts"])), &key);
        let links = ["bad_link", "bad_sequence"];
        assert!(flaws.iter().any(|flaw| links.contains(&flaw.word)), "{}", vector["name"]);
    }
}

#[test]
fn keys_are_those_of_their_names() {
    let file = vectors("did-key.vectors.json");
    for vector in list(&file["vectors"]) {
        let did = vector["did"].as_str().unwrap().strip_prefix("did:key:z").unwrap();
        let bytes = base58(did);
        assert_eq!(bytes[..2], [0xed, 0x01]);
        let hex: String = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, vector["public_key_hex"].as_str().unwrap());
        VerifyingKey::from_bytes(bytes[2..].try_into().unwrap()).unwrap();
    }
}

fn base58(text: &str) -> Vec<u8> {
    const DIGITS: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut bytes: Vec<u8> = Vec::new();
    for char in text.chars() {
        let mut carry = DIGITS.find(char).unwrap();
        for byte in bytes.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = (carry % 256) as u8;
            carry /= 256;
        }
        if carry > 0 {
            bytes.insert(0, carry as u8);
        }
    }
    bytes
}

#[test]
fn envelopes_have_the_text_that_is_published() {
    let file = vectors("disclosure-envelope.vectors.json");
    for vector in list(&file["vectors"]) {
        let pairs = [
            ("plaintext_object", "plaintext_canonical_jcs"),
            ("envelope_object", "envelope_canonical_jcs"),
        ];
        for (object, due) in pairs {
            assert_eq!(text(&vector[object]), vector[due].as_str().unwrap());
        }
    }
}

#[test]
fn a_rotation_names_the_keys_by_their_fingerprints() {
    let receipt = vectors("rotation-event.example.json");
    let rotation = &receipt["credentialSubject"]["keyRotation"];
    let new = rotation["new_public_key"].as_str().unwrap().strip_prefix('u').unwrap();
    let new = URL_SAFE_NO_PAD.decode(new).unwrap();
    assert_eq!(sha256(&new), rotation["new_key_fingerprint"].as_str().unwrap());
    // The old key is that of the second test of RFC 8032.
    let keys = vectors("did-key.vectors.json");
    let old = list(&keys["vectors"]).iter().find_map(|vector| {
        let hex = vector["public_key_hex"].as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..64).step_by(2).map(byte).collect();
        let due = rotation["old_key_fingerprint"].as_str().unwrap();
        (sha256(&bytes) == due).then_some(bytes)
    });
    if let Some(old) = old {
        let key = VerifyingKey::from_bytes(old.as_slice().try_into().unwrap()).unwrap();
        assert_eq!(flaw_codes(&verify_chain(&receipts(&[receipt]), &key)), [""; 0]);
    } else {
        panic!("no published key has the old fingerprint");
    }
}

/// The failures that these two describe have cases: a socket without a listener, and a decision
/// that is none.
#[test]
fn failures_of_emitters_have_cases() {
    let file = vectors("emit_failure_vectors.json");
    let names: Vec<&str> =
        list(&file["cases"]).iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dial_failure_unreachable_socket", "caller_bug_invalid_decision"]);
    let corpus = boxproof_cases::Suite::embedded().unwrap();
    for id in ["receipts/drops/daemon-down", "receipts/frames/decision"] {
        assert!(corpus.cases.iter().any(|case| case.id.as_str() == id), "{id}");
    }
}
