//! Receipts that every verifier must reject, and the reason for each here.

use boxproof_receipts::keys::public_from_pem;
use boxproof_receipts::verify::{ChainExpectations, FileReport, VerifyOptions, verify_file};
use rstest::rstest;
use serde_json::Value;

use crate::support::vectors;

fn report(file: &Value, receipts: &[Value]) -> FileReport {
    let key = public_from_pem(file["keys"]["publicKey"].as_str().unwrap()).unwrap();
    let lines: String = receipts.iter().map(|receipt| format!("{receipt}\n")).collect();
    verify_file(lines.as_bytes(), &key, &ChainExpectations::default(), VerifyOptions::default())
        .unwrap()
}

#[rstest]
#[case("malformed_vectors.json", 6)]
#[case("malformed_vectors.newer.json", 7)]
fn receipts(#[case] name: &str, #[case] count: usize) {
    let file = vectors(name);
    let all = file["receipts"].as_array().unwrap();
    assert_eq!(all.len(), count);
    for case in all {
        let report = report(&file, std::slice::from_ref(&case["receipt"]));
        assert!(!report.valid, "{}", case["name"]);
        let found = &report.chains[0];
        let error = report.malformed.first().map_or(found.error.as_str(), |m| m.error.as_str());
        let expected = match case["name"].as_str().unwrap() {
            "wrong_proof_type" => {
                "signature compute failed at index 0: unsupported proof type \
                 \"RsaSignature2018\": only Ed25519Signature2020 is accepted"
            }
            "truncated_proof_value" => "signature compute failed at index 0: proof value too short",
            "wrong_multibase_prefix" => {
                "signature compute failed at index 0: unsupported multibase prefix: 'z'"
            }
            "schema_missing_required_field" => "MALFORMED_RECEIPT: missing field `chain_id`",
            // Computed and wrong: the receipt's own booleans tell.
            "mutated_action_type" | "mutated_principal_id" | "flipped_proof_byte" => "",
            other => panic!("a new case, {other}: say why it must fail"),
        };
        assert_eq!(error, expected, "{}", case["name"]);
        if report.malformed.is_empty() {
            assert!(!found.receipts[0].signature_valid, "{}", case["name"]);
        }
    }
}

#[rstest]
#[case("malformed_vectors.json", 1)]
#[case("malformed_vectors.newer.json", 4)]
fn chains(#[case] name: &str, #[case] count: usize) {
    let file = vectors(name);
    let all = file["chains"].as_array().unwrap();
    assert_eq!(all.len(), count);
    for case in all {
        let report = report(&file, case["receipts"].as_array().unwrap());
        assert!(!report.valid, "{}", case["name"]);
        let found = &report.chains[0];
        let at = &found.receipts[usize::try_from(found.broken_at).unwrap()];
        let checks = (at.signature_valid, at.hash_link_valid, at.sequence_valid);
        let expected = match case["name"].as_str().unwrap() {
            // Taken away after it was signed.
            "missing_previous_receipt_hash_mid_chain" => (1, (false, false, true)),
            "chain_wrong_previous_receipt_hash" => (2, (true, false, true)),
            "chain_duplicate_sequence" | "chain_sequence_gap" => (2, (true, true, false)),
            other => panic!("a new case, {other}: say why it must fail"),
        };
        assert_eq!((at.index, checks), expected, "{}", case["name"]);
    }
}
