//! An export that changes receipts, links them anew and signs them, so that only the change shows.

use std::collections::BTreeMap;
use std::process::ExitCode;

use boxproof::receipts::canonical;
use boxproof::receipts::sign::sign;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::DecodePrivateKey as _;
use serde_json::{Value, json};

use super::Call;

/// The change of the receipt with this index in its chain; returns its signing afterwards.
type Change = fn(usize, &mut Value) -> Signing;

enum Signing {
    Own,
    Other,
    Unlinked,
}

pub(super) fn is_mutation(mutation: &str) -> bool {
    change(mutation).is_some()
}

fn change(mutation: &str) -> Option<Change> {
    Some(match mutation {
        "sequence-reset" => |_, receipt| {
            receipt["credentialSubject"]["chain"]["sequence"] = 1.into();
            Signing::Own
        },
        "wrong-previous" => |at, receipt| {
            if at == 0 {
                return Signing::Own;
            }
            let hash = canonical::sha256(b"another");
            receipt["credentialSubject"]["chain"]["previous_receipt_hash"] = hash.into();
            Signing::Unlinked
        },
        "unsigned-drop" => |_, receipt| {
            let kind = &receipt["credentialSubject"]["action"]["type"];
            if kind == "agent_receipts.events_dropped" { Signing::Other } else { Signing::Own }
        },
        "other-key" => |_, _| Signing::Other,
        "hash-of-null" => |_, receipt| {
            let outcome = &mut receipt["credentialSubject"]["outcome"];
            if outcome.get("response_hash").is_none() {
                outcome["response_hash"] = canonical::sha256(b"null").into();
            }
            Signing::Own
        },
        "one-id" => |_, receipt| {
            receipt["id"] = "urn:receipt:00000000-0000-4000-8000-000000000000".into();
            Signing::Own
        },
        "no-anchor" => |_, receipt| {
            if let Some(subject) = receipt["credentialSubject"].as_object_mut() {
                subject.remove("delegation");
            }
            Signing::Own
        },
        "lowered-risk" => |_, receipt| {
            receipt["credentialSubject"]["action"]["risk_level"] = json!("low");
            Signing::Own
        },
        _ => return None,
    })
}

pub(super) fn export(mutation: &str, call: &Call) -> ExitCode {
    let Some(change) = change(mutation) else { return call.exec() };
    let key = call.file("--store").with_file_name("key");
    let pem = std::fs::read_to_string(key).unwrap();
    let (own, other) =
        (SigningKey::from_pkcs8_pem(&pem).unwrap(), SigningKey::from_bytes(&[5; 32]));
    let output = call.command().output().unwrap();
    let mut tips: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut receipt: Value = serde_json::from_str(line).unwrap();
        let chain = receipt["credentialSubject"]["chain"]["chain_id"].as_str().unwrap().to_owned();
        let (at, tip) = tips.get(&chain).cloned().unwrap_or_default();
        let signing = change(at, &mut receipt);
        if at > 0 && !matches!(signing, Signing::Unlinked) {
            receipt["credentialSubject"]["chain"]["previous_receipt_hash"] = tip.into();
        }
        let key = if matches!(signing, Signing::Other) { &other } else { &own };
        sign(&mut receipt, key).unwrap();
        tips.insert(chain, (at + 1, canonical::receipt_hash(&receipt).unwrap()));
        println!("{}", String::from_utf8(canonical::canonical(&receipt).unwrap()).unwrap());
    }
    ExitCode::SUCCESS
}
