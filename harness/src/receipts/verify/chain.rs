//! One chain: signatures, links, sequence, issuer, order of time, ending, rotation of keys.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::Value;

use super::super::canonical;
use super::{PlacedReceipt, ReceiptFlaw};

/// Lists the flaws of `chain`, whose receipts are in the order of storage.
pub(super) fn flaws(chain: &[&PlacedReceipt], key: &VerifyingKey) -> Vec<ReceiptFlaw> {
    let mut flaws = Vec::new();
    let mut key = *key;
    let mut ids = BTreeSet::new();
    for (at, receipt) in chain.iter().enumerate() {
        let line = receipt.line;
        let before = at.checked_sub(1).map(|at| chain[at]);
        match signature(receipt, &key) {
            Ok(()) => key = rotated(receipt).unwrap_or(key),
            Err(why) => flaws.push(ReceiptFlaw::new("bad_signature", line, why)),
        }
        if let Some(id) = receipt.text("/id")
            && !ids.insert(id)
        {
            flaws.push(ReceiptFlaw::new("duplicate_id", line, format!("{id} is there twice")));
        }
        flaws.extend(link(before, receipt));
        flaws.extend(ending(receipt));
        if let Some(before) = before {
            flaws.extend(neighbours(before, receipt));
        }
    }
    flaws
}

fn signature(receipt: &PlacedReceipt, key: &VerifyingKey) -> Result<(), String> {
    let text = canonical::signed_text(&receipt.value)?;
    match receipt.text("/proof/type") {
        Some("Ed25519Signature2020") => {}
        other => return Err(format!("a proof of type {other:?}")),
    }
    let value = receipt.text("/proof/proofValue").ok_or("no proof")?;
    let value = value.strip_prefix('u').ok_or("a proof of another base")?;
    let bytes = URL_SAFE_NO_PAD.decode(value).map_err(|error| error.to_string())?;
    let signature = Signature::from_slice(&bytes).map_err(|error| error.to_string())?;
    key.verify_strict(&text, &signature).map_err(|error| error.to_string())
}

/// The key that signs what follows, where the receipt says so.
fn rotated(receipt: &PlacedReceipt) -> Option<VerifyingKey> {
    let new = receipt.text("/credentialSubject/keyRotation/new_public_key")?.strip_prefix('u')?;
    let bytes = URL_SAFE_NO_PAD.decode(new).ok()?;
    VerifyingKey::from_bytes(bytes.as_slice().try_into().ok()?).ok()
}

fn link(before: Option<&PlacedReceipt>, receipt: &PlacedReceipt) -> Vec<ReceiptFlaw> {
    let line = receipt.line;
    let previous = receipt.value.pointer(canonical::PREVIOUS);
    let mut flaws = Vec::new();
    let due = match before {
        None => Some(Value::Null),
        Some(before) => canonical::receipt_hash(&before.value).ok().map(Value::String),
    };
    if previous != due.as_ref() {
        let why = format!("previous is {previous:?} instead of {due:?}");
        flaws.push(ReceiptFlaw::new("bad_link", line, why));
    }
    let (number, last) = (receipt.sequence(), before.and_then(PlacedReceipt::sequence));
    match (before, number) {
        (None, Some(1)) => {}
        (None, number) => {
            let why = format!("the chain begins with {number:?}");
            flaws.push(ReceiptFlaw::new("bad_genesis", line, why));
        }
        (Some(_), number) if number == last.map(|last| last + 1) => {}
        (Some(_), number) => {
            let why = format!("{number:?} follows {last:?}");
            flaws.push(ReceiptFlaw::new("bad_sequence", line, why));
        }
    }
    flaws
}

fn ending(receipt: &PlacedReceipt) -> Option<ReceiptFlaw> {
    let chain = receipt.value.pointer("/credentialSubject/chain")?;
    let terminal = chain.get("terminal") == Some(&Value::Bool(true));
    let status = chain.get("status")?;
    if !["complete", "interrupted"].contains(&status.as_str().unwrap_or_default()) {
        return Some(ReceiptFlaw::new(
            "bad_status",
            receipt.line,
            format!("{status} is no ending"),
        ));
    }
    let why = "an ending of a chain that goes on";
    (!terminal).then(|| ReceiptFlaw::new("status_without_terminal", receipt.line, why))
}

fn neighbours(before: &PlacedReceipt, receipt: &PlacedReceipt) -> Vec<ReceiptFlaw> {
    let line = receipt.line;
    let mut flaws = Vec::new();
    if before.value.pointer("/credentialSubject/chain/terminal").is_some() {
        flaws.push(ReceiptFlaw::new("chain_reopened", line, "the chain was ended before"));
    }
    if before.chain() != receipt.chain() {
        let why = format!("`{}` in `{}`", receipt.chain(), before.chain());
        flaws.push(ReceiptFlaw::new("bad_link", line, why));
    }
    if before.text("/issuer/id") != receipt.text("/issuer/id") {
        flaws.push(ReceiptFlaw::new("issuer_change", line, "another issuer than before"));
    }
    let time = |receipt: &PlacedReceipt| {
        humantime::parse_rfc3339(receipt.text("/issuanceDate").unwrap_or_default()).ok()
    };
    if let (Some(earlier), Some(later)) = (time(before), time(receipt))
        && later < earlier
    {
        flaws.push(ReceiptFlaw::new("time_reversal", line, "it is older than the one before"));
    }
    flaws
}
