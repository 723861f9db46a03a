//! Handing over to a new key: the published event, and chains that go on after it.

use boxproof_receipts::keys::{fingerprint, multibase};
use boxproof_receipts::parsed_receipt::read;
use boxproof_receipts::verify::{ChainExpectations, ChainVerification, verify};
use ed25519_dalek::{SigningKey, VerifyingKey};
use serde_json::{Value, json};

use crate::support::{Forge, vectors};

/// The first and third keys of RFC 8032 are those of the example.
fn published_keys() -> [VerifyingKey; 3] {
    let file = vectors("did-key.vectors.json");
    let all = file["vectors"].as_array().unwrap();
    let keys: Vec<VerifyingKey> = all
        .iter()
        .map(|vector| {
            let hex = vector["public_key_hex"].as_str().unwrap();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let raw: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            VerifyingKey::from_bytes(&raw.try_into().unwrap()).unwrap()
        })
        .collect();
    keys.try_into().unwrap()
}

#[test]
fn the_published_event_is_valid_under_its_own_old_key() {
    let event = vectors("rotation-event.example.json");
    let said = &event["credentialSubject"]["keyRotation"];
    let receipt = [read(event.to_string().as_bytes()).unwrap()];
    let keys = published_keys();
    let fits =
        |key: &&VerifyingKey| fingerprint(key) == said["old_key_fingerprint"].as_str().unwrap();
    let Some(old) = keys.iter().find(fits) else {
        panic!("the old key is none of the published ones: {said}");
    };
    let found = verify(&receipt, old, &ChainExpectations::default());
    assert!(found.valid, "{found:?}");
    let other = keys.iter().find(|key| *key != old).unwrap();
    let found = verify(&receipt, other, &ChainExpectations::default());
    assert!(
        found.error.starts_with("key rotation invalid at index 0: old_key_fingerprint mismatch")
    );
}

fn event(old: &SigningKey, new: &SigningKey) -> Value {
    json!({"event_type": "key_rotated", "signed_with": "old",
        "old_algorithm": "ed25519", "new_algorithm": "ed25519",
        "old_key_fingerprint": fingerprint(&old.verifying_key()),
        "new_key_fingerprint": fingerprint(&new.verifying_key()),
        "new_public_key": multibase(new.verifying_key().as_bytes())})
}

/// One receipt, the rotation, and one receipt signed with `after`.
fn chain(event: &Value, signer: &SigningKey, after: &SigningKey) -> ChainVerification {
    let mut forge = Forge::new();
    forge.add(json!({}));
    let old = std::mem::replace(&mut forge.key, signer.clone());
    forge.add(json!({"/credentialSubject/keyRotation": event}));
    forge.key = after.clone();
    forge.add(json!({}));
    verify(&forge.readings(), &old.verifying_key(), &ChainExpectations::default())
}

#[test]
fn a_good_rotation_is_traversed_and_a_bad_one_is_not() {
    let (old, new) = (Forge::new().key, SigningKey::from_bytes(&[9; 32]));
    let good = event(&old, &new);
    assert!(chain(&good, &old, &new).valid);
    // The old key is of no use any more.
    let found = chain(&good, &old, &old);
    assert_eq!((found.broken_at, found.error.as_str()), (2, ""));
    // A rotation that is not signed with the old key does not bind the chain to the new one.
    let found = chain(&good, &new, &new);
    assert_eq!((found.broken_at, found.receipts[2].signature_valid), (1, false));
    for (member, value, says) in [
        ("event_type", json!("rotated"), "event_type must be \"key_rotated\", got \"rotated\""),
        ("signed_with", json!("new"), "signed_with must be \"old\", got \"new\""),
        (
            "old_algorithm",
            json!("rsa"),
            "unsupported old_algorithm \"rsa\": only \"ed25519\" is supported",
        ),
        (
            "new_algorithm",
            json!("rsa"),
            "unsupported new_algorithm \"rsa\": only \"ed25519\" is supported",
        ),
        ("old_key_fingerprint", json!("sha256:0"), "old_key_fingerprint mismatch: outgoing key is"),
        (
            "new_key_fingerprint",
            json!("sha256:0"),
            "new_key_fingerprint mismatch: new_public_key hashes to",
        ),
        (
            "new_public_key",
            json!("zAAAA"),
            "decode new_public_key: expected multibase \"u\" prefix",
        ),
        ("new_public_key", json!("uAAAA"), "decode new_public_key: expected 32 key bytes, got 3"),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        let found = chain(&bad, &old, &new);
        let text = format!("key rotation invalid at index 1: {says}");
        assert!(found.error.starts_with(&text), "{}", found.error);
        assert_eq!((found.broken_at, found.receipts[2].signature_valid), (1, false));
    }
}
