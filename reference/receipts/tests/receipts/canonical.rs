//! The published canonicalisation and hash vectors, every one of them.

use boxproof_receipts::canonical::{canonical, digest, hash, unsigned};
use serde_json::{Value, json};

use crate::support::vectors;

#[test]
fn canonical_texts_are_as_published() {
    let file = vectors("canonicalization_vectors.json");
    let all = file["canonicalization_vectors"].as_array().unwrap();
    assert_eq!(all.len(), 32);
    for vector in all {
        // A parser may not tell one zero from the other: this one is made here.
        let input = match vector["name"].as_str().unwrap() {
            "number_negative_zero" => json!(-0.0),
            _ => vector["input"].clone(),
        };
        let text = String::from_utf8(canonical(&input).unwrap()).unwrap();
        assert_eq!(text, vector["canonical"].as_str().unwrap(), "{}", vector["name"]);
        if let Some(expected) = vector["expectedHash"].as_str() {
            assert_eq!(digest(text.as_bytes()), expected, "{}", vector["name"]);
        }
    }
}

#[test]
fn receipt_hashes_are_as_published() {
    let file = vectors("canonicalization_vectors.json");
    let all = file["receipt_hash_vectors"].as_array().unwrap();
    assert_eq!(all.len(), 11);
    let named = |name: &str| all.iter().find(|vector| vector["name"] == name).unwrap();
    for vector in all.iter().filter(|vector| vector.get("receipt").is_some()) {
        let expected = match vector["expectedHash"].as_str().unwrap() {
            said if said.starts_with("SAME_AS_") => &named(&said[8..])["expectedHash"],
            _ => &vector["expectedHash"],
        };
        let signed = unsigned(vector["receipt"].clone());
        assert_eq!(hash(&signed).unwrap(), expected.as_str().unwrap(), "{}", vector["name"]);
        if let Some(part) = vector["mustContainSubstring"].as_str() {
            let text = String::from_utf8(canonical(&signed).unwrap()).unwrap();
            assert!(text.contains(part), "{}: {text}", vector["name"]);
        }
    }
    // The one without a receipt points to a chain of another file: its signatures still hold.
    let rest: Vec<&Value> = all.iter().filter(|v| v.get("receipt").is_none()).collect();
    assert_eq!(rest.len(), 1);
    let from = rest[0]["receiptsFrom"].as_str().unwrap();
    assert_eq!(from, "cross-sdk-tests/v020_vectors.json#/terminalChain/receipts");
}

#[test]
fn the_three_first_implementations_agree() {
    for name in ["go", "py", "ts"] {
        let file = vectors(&format!("{name}_vectors.json"));
        let pair = |input: &str, expected: &str| {
            let text = canonical(&file["canonicalization"][input]).unwrap();
            let expected = file["canonicalization"][expected].as_str().unwrap();
            assert_eq!(String::from_utf8(text.clone()).unwrap(), expected, "{name}");
            text
        };
        pair("simpleInput", "simpleExpected");
        let text = pair("receiptInput", "receiptExpected");
        let hashing = &file["hashing"];
        let simple = hashing["simpleInput"].as_str().unwrap();
        assert_eq!(digest(simple.as_bytes()), hashing["simpleExpected"].as_str().unwrap());
        assert_eq!(digest(&text), hashing["receiptExpected"].as_str().unwrap(), "{name}");
    }
}

#[test]
fn responses_are_hashed_as_sent_and_disclosures_have_one_text() {
    let file = vectors("v020_vectors.json");
    let response = &file["responseHash"];
    let expected = response["expectedHash"].as_str().unwrap();
    assert_eq!(hash(&response["redactedResponse"]).unwrap(), expected);
    assert_ne!(hash(&response["rawResponse"]).unwrap(), expected);
    let file = vectors("disclosure-envelope.vectors.json");
    let all = file["vectors"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    for vector in all {
        for (value, text) in [
            ("plaintext_object", "plaintext_canonical_jcs"),
            ("envelope_object", "envelope_canonical_jcs"),
        ] {
            let found = canonical(&vector[value]).unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), vector[text].as_str().unwrap());
        }
    }
}
