//! Published receipts: signatures hold, hashes are as stated, chains verify as stated.

use boxproof_receipts::canonical::canonical;
use boxproof_receipts::keys::{multibase, private_from_pem, public_from_pem};
use boxproof_receipts::parsed_receipt::{ParsedReceipt, read};
use boxproof_receipts::verify::{ChainExpectations, ChainVerification, verify};
use ed25519_dalek::{Signer, VerifyingKey};
use rstest::rstest;
use serde_json::Value;

use crate::support::vectors;

fn public(file: &Value) -> VerifyingKey {
    public_from_pem(file["keys"]["publicKey"].as_str().unwrap()).unwrap()
}

fn readings(receipts: &[Value]) -> Vec<ParsedReceipt> {
    receipts.iter().map(|receipt| read(receipt.to_string().as_bytes()).unwrap()).collect()
}

fn verified(file: &Value, receipts: &Value, options: &ChainExpectations) -> ChainVerification {
    verify(&readings(receipts.as_array().unwrap()), &public(file), options)
}

#[rstest]
#[case("v020", "parametersDisclosureReceipt")]
#[case("v030", "parametersDisclosureEnvelopeReceipt")]
#[case("v030", "peerCredentialEmitterMetadataReceipt")]
#[case("v030", "peerCredentialRootReceipt")]
#[case("v040", "idempotencyKeyReceipt")]
#[case("v050", "runtimeReceipt")]
#[case("v050", "extendedRuntimeReceipt")]
#[case("v050", "rootAgentReceipt")]
fn single_receipts(#[case] file: &str, #[case] name: &str) {
    let file = vectors(&format!("{file}_vectors.json"));
    let case = &file[name];
    assert_eq!(case["expectedValid"], true);
    let all = readings(std::slice::from_ref(&case["receipt"]));
    assert_eq!(all[0].hash, case["expectedReceiptHash"].as_str().unwrap());
    let found = verify(&all, &public(&file), &ChainExpectations::default());
    assert!(found.valid, "{found:?}");
    // No receipt holds under another key.
    let other = private_from_pem(OTHER).unwrap().verifying_key();
    let found = verify(&all, &other, &ChainExpectations::default());
    assert!(!found.receipts[0].signature_valid && !found.valid);
}

const OTHER: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIBERERERERERERERERERERERERERERERERERERERERER\n\
    -----END PRIVATE KEY-----\n";

#[test]
fn nothing_in_the_files_is_left_out() {
    for (name, cases) in [("v020", 2), ("v030", 3), ("v040", 2), ("v050", 3)] {
        let file = vectors(&format!("{name}_vectors.json"));
        let stated =
            file.as_object().unwrap().values().filter(|v| v.get("expectedValid").is_some());
        assert_eq!(stated.count(), cases, "{name}");
    }
}

#[rstest]
#[case("go")]
#[case("py")]
#[case("ts")]
fn signing_gives_the_published_signature(#[case] name: &str) {
    let file = vectors(&format!("{name}_vectors.json"));
    let signing = &file["signing"];
    let all = readings(std::slice::from_ref(&signing["signed"]));
    let found = verify(&all, &public(&file), &ChainExpectations::default());
    assert!(found.valid, "{found:?}");
    let key = private_from_pem(file["keys"]["privateKey"].as_str().unwrap()).unwrap();
    let text = canonical(&signing["unsigned"]).unwrap();
    let signature = multibase(&key.sign(&text).to_bytes());
    assert_eq!(signature, signing["signed"]["proof"]["proofValue"].as_str().unwrap());
}

#[test]
fn the_terminal_chain() {
    let file = vectors("v020_vectors.json");
    let case = &file["terminalChain"];
    assert_eq!(case["expectedValidWithRequireTerminal"], true);
    let options = ChainExpectations { require_terminal: true, ..ChainExpectations::default() };
    let found = verified(&file, &case["receipts"], &options);
    assert!(found.valid, "{found:?}");
    assert_eq!(found.status, "complete");
    let mut short = case["receipts"].clone();
    short.as_array_mut().unwrap().pop();
    let found = verified(&file, &short, &options);
    assert_eq!(found.error, "require_terminal: last receipt does not have chain.terminal: true");
    assert!(verified(&file, &short, &ChainExpectations::default()).valid);
}

#[test]
fn a_repeated_idempotency_key_is_a_warning() {
    let file = vectors("v040_vectors.json");
    let case = &file["duplicateIdempotencyChain"];
    let found = verified(&file, &case["receipts"], &ChainExpectations::default());
    assert!(found.valid);
    assert_eq!(found.warnings.len() as u64, case["expectedWarningCount"].as_u64().unwrap());
    let key = case["duplicateKey"].as_str().unwrap();
    let expected = format!(
        "duplicate idempotency_key \"{key}\" on receipts at indices 0, 1 \
         (retries are legitimate; review for double-counting)"
    );
    assert_eq!(found.warnings, [expected]);
}
