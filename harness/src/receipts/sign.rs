//! Chains made by the harness itself: a good one, and the differences from it that a case asks for.
//! They are the questions to a channel's verifier. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use boxproof_cases::case::{ChainEdit, ReceiptMember, SignatureForm, VerifyStep};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use super::canonical;

/// A chain as text, and what a verifier may be told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainText {
    /// One receipt a line.
    pub lines: Vec<String>,
    /// The hash of the last receipt of the good chain.
    pub final_hash: String,
}

/// The keys that sign a chain: its own, and the one that others use.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// The chain's own key.
    pub own: SigningKey,
    /// Another key.
    pub other: SigningKey,
}

/// The chain that `step` describes.
///
/// # Errors
/// A place that is not there.
pub fn chain(step: &VerifyStep, keys: &SigningKeys) -> Result<ChainText, String> {
    let good = made(step.length, &[], keys)?;
    let final_hash = match good.last() {
        Some(last) => canonical::receipt_hash(last)?,
        None => canonical::sha256(b""),
    };
    let mut receipts = made(step.length, &step.edits, keys)?;
    for edit in &step.edits {
        apply(edit, &mut receipts, keys)?;
    }
    let lines = receipts.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let lines = step.edits.iter().fold(lines, written);
    Ok(ChainText { lines, final_hash })
}

/// Returns one response for every receipt of `chain`, by the receipts' ids.
///
/// # Errors
/// A line that is no receipt.
pub fn bodies(chain: &ChainText, response: &Value) -> Result<String, String> {
    let mut bodies = serde_json::Map::new();
    for line in &chain.lines {
        let receipt: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let id = receipt["id"].as_str().ok_or("a receipt without an id")?;
        bodies.insert(id.to_owned(), response.clone());
    }
    Ok(Value::from(bodies).to_string())
}

fn text(receipt: &Value) -> Result<String, String> {
    String::from_utf8(canonical::canonical(receipt)?).map_err(|error| error.to_string())
}

/// The chain as it is signed: `Make` and `Rotate` come before that.
fn made(length: usize, edits: &[ChainEdit], keys: &SigningKeys) -> Result<Vec<Value>, String> {
    let mut receipts: Vec<Value> = (0..length).map(plain).collect();
    let mut rotated = None;
    let mut linked = vec![true; length];
    for edit in edits {
        match edit {
            ChainEdit::Make(place) => {
                set(&mut receipts, place)?;
                linked[place.at] &= place.member != canonical::PREVIOUS;
            }
            ChainEdit::Rotate(rotation) => {
                let said = rotation_of(keys, rotation.wrong_fingerprint);
                receipts[rotation.at]["credentialSubject"]["keyRotation"] = said;
                rotated = Some(rotation.at);
            }
            _ => {}
        }
    }
    for at in 0..length {
        if at > 0 && linked[at] {
            let hash = canonical::receipt_hash(&receipts[at - 1])?;
            receipts[at]["credentialSubject"]["chain"]["previous_receipt_hash"] = hash.into();
        }
        let key = if rotated.is_some_and(|since| at > since) { &keys.other } else { &keys.own };
        sign(&mut receipts[at], key)?;
    }
    Ok(receipts)
}

/// Signs `receipt`, and keeps the other members of a proof that it has.
///
/// # Errors
/// A number that has no RFC 8785 text.
pub fn sign(receipt: &mut Value, key: &SigningKey) -> Result<(), String> {
    let bytes = key.sign(&canonical::signed_text(receipt)?).to_bytes();
    let value = format!("u{}", URL_SAFE_NO_PAD.encode(bytes));
    receipt["proof"]["proofValue"] = value.into();
    Ok(())
}

/// A good receipt, not yet signed.
fn plain(at: usize) -> Value {
    let uuid = format!("00000000-0000-4000-8000-{at:012}");
    let time = format!("2026-06-15T12:00:{:02}Z", at % 60);
    let issuer = "did:agent-receipts-daemon:boxproof";
    json!({
        "@context": ["https://www.w3.org/ns/credentials/v2", "https://agentreceipts.ai/context/v2"],
        "id": format!("urn:receipt:{uuid}"),
        "type": ["VerifiableCredential", "AgentReceipt"],
        "version": "0.5.0",
        "issuer": { "id": issuer },
        "issuanceDate": time,
        "credentialSubject": {
            "principal": { "id": "did:user:boxproof" },
            "action": {
                "id": format!("act_{uuid}"),
                "type": "system.command.execute",
                "risk_level": "high",
                "timestamp": time,
                "parameters_hash": canonical::sha256(format!("command {at}").as_bytes()),
                "peer_credential": { "platform": "linux", "pid": 7, "uid": 1500, "gid": 1500 },
            },
            "outcome": { "status": "success" },
            "chain": { "sequence": at + 1, "previous_receipt_hash": null, "chain_id": "root" },
        },
        "proof": {
            "type": "Ed25519Signature2020",
            "created": time,
            "verificationMethod": format!("{issuer}#key-1"),
            "proofPurpose": "assertionMethod",
        },
    })
}

fn rotation_of(keys: &SigningKeys, wrong: bool) -> Value {
    let [own, other] = [&keys.own, &keys.other].map(|key| key.verifying_key().to_bytes());
    let old = if wrong { canonical::sha256(b"another") } else { canonical::sha256(&own) };
    json!({
        "event_type": "key_rotated",
        "new_public_key": format!("u{}", URL_SAFE_NO_PAD.encode(other)),
        "old_key_fingerprint": old,
        "new_key_fingerprint": canonical::sha256(&other),
        "old_algorithm": "ed25519",
        "new_algorithm": "ed25519",
        "signed_with": "old",
    })
}

fn set(receipts: &mut [Value], place: &ReceiptMember) -> Result<(), String> {
    let missing = || format!("{}: no such member", place.member);
    let (parent, name) = place.member.rsplit_once('/').ok_or_else(missing)?;
    let parent = receipts[place.at].pointer_mut(parent).ok_or_else(missing)?;
    let null = place.null.then_some(Value::Null);
    match (parent, null.as_ref().or(place.value.as_ref())) {
        (Value::Object(members), Some(value)) => {
            drop(members.insert(name.to_owned(), value.clone()));
        }
        (Value::Object(members), None) => drop(members.remove(name).ok_or_else(missing)?),
        (Value::Array(items), Some(value)) => {
            let at: usize = name.parse().map_err(|_| missing())?;
            *items.get_mut(at).ok_or_else(missing)? = value.clone();
        }
        _ => return Err(missing()),
    }
    Ok(())
}

fn apply(edit: &ChainEdit, receipts: &mut Vec<Value>, keys: &SigningKeys) -> Result<(), String> {
    match edit {
        ChainEdit::Set(place) => set(receipts, place)?,
        ChainEdit::Drop(at) => drop(receipts.remove(*at)),
        ChainEdit::Swap(at) => receipts.swap(*at, at + 1),
        ChainEdit::Repeat(at) => receipts.insert(*at, receipts[*at].clone()),
        ChainEdit::Keep(count) => receipts.truncate(*count),
        ChainEdit::Forge(at) => sign(&mut receipts[*at], &keys.other)?,
        ChainEdit::Signature(edit) => odd_signature(&mut receipts[edit.at], edit.form)?,
        ChainEdit::Make(_) | ChainEdit::Rotate(_) | ChainEdit::Line(_) => {}
    }
    Ok(())
}

/// The order of the group that signatures are made in, its lowest byte first.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

fn odd_signature(receipt: &mut Value, form: SignatureForm) -> Result<(), String> {
    let value = receipt.pointer("/proof/proofValue").and_then(Value::as_str).unwrap_or_default();
    let mut bytes = URL_SAFE_NO_PAD
        .decode(value.strip_prefix('u').unwrap_or_default())
        .map_err(|error| error.to_string())?;
    match form {
        SignatureForm::HighS => {
            let mut carry = 0;
            for (byte, more) in bytes.iter_mut().skip(32).zip(ORDER) {
                let sum = u16::from(*byte) + u16::from(more) + carry;
                *byte = sum.to_le_bytes()[0];
                carry = sum >> 8;
            }
        }
        SignatureForm::Identity => {
            bytes.fill(0);
            bytes.iter_mut().take(1).for_each(|byte| *byte = 1);
        }
    }
    receipt["proof"]["proofValue"] = format!("u{}", URL_SAFE_NO_PAD.encode(bytes)).into();
    Ok(())
}

fn written(mut lines: Vec<String>, edit: &ChainEdit) -> Vec<String> {
    if let ChainEdit::Line(line) = edit
        && let Some(text) = lines.get_mut(line.at)
    {
        *text = text.replacen(&line.from, &line.to, 1);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipts::verify;
    use rstest::rstest;

    fn found(step: &str) -> Vec<(&'static str, usize)> {
        let step: VerifyStep = serde_yaml::with::singleton_map_recursive::deserialize(
            serde_yaml::Deserializer::from_str(step),
        )
        .unwrap();
        let key = |byte| SigningKey::from_bytes(&[byte; 32]);
        let keys = SigningKeys { own: key(1), other: key(2) };
        let lines = chain(&step, &keys).unwrap().lines;
        let flaws = verify::verify(&lines, &keys.own.verifying_key());
        flaws.into_iter().map(|flaw| (flaw.word, flaw.line)).collect()
    }

    #[rstest]
    #[case("{}", &[])]
    #[case("{length: 0}", &[])]
    #[case("{edits: [{rotate: {at: 1}}]}", &[])]
    #[case("{edits: [{keep: 2}]}", &[])]
    #[case("{edits: [{forge: 1}]}", &[("bad_signature", 2)])]
    #[case("{edits: [{rotate: {at: 1}}, {forge: 1}]}", &[("bad_signature", 2), ("bad_signature", 3)])]
    #[case("{edits: [{signature: {at: 1, form: high_s}}]}", &[("bad_signature", 2)])]
    #[case("{edits: [{signature: {at: 1, form: identity}}]}", &[("bad_signature", 2)])]
    #[case("{edits: [{drop: 1}]}", &[("bad_link", 2), ("bad_sequence", 2)])]
    #[case("{edits: [{drop: 0}]}", &[("bad_genesis", 1), ("bad_link", 1)])]
    #[case("{edits: [{swap: 1}]}", &[("bad_link", 2), ("bad_sequence", 2), ("time_reversal", 3), ("bad_link", 3), ("bad_sequence", 3)])]
    #[case("{edits: [{set: {at: 1, member: /credentialSubject/action/risk_level, value: critical}}]}", &[("bad_signature", 2), ("bad_link", 3)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/action/risk_level, value: low}}]}", &[("risk_lowered", 2)])]
    #[case("{edits: [{make: {at: 2, member: /credentialSubject/chain/sequence, value: 1}}]}", &[("bad_sequence", 3)])]
    #[case("{edits: [{make: {at: 2, member: /credentialSubject/chain/previous_receipt_hash, 'null': true}}]}", &[("bad_link", 3)])]
    #[case("{edits: [{make: {at: 0, member: /credentialSubject/chain/sequence, value: 7}}]}", &[("bad_genesis", 1), ("bad_sequence", 2)])]
    #[case("{edits: [{make: {at: 1, member: /issuer/id, value: 'did:x'}}]}", &[("issuer_change", 2), ("verification_method", 2), ("issuer_change", 3)])]
    #[case("{edits: [{make: {at: 1, member: /id, value: 'urn:receipt:00000000-0000-4000-8000-000000000000'}}]}", &[("duplicate_id", 2)])]
    #[case("{edits: [{make: {at: 1, member: /issuanceDate, value: '2020-01-01T00:00:00Z'}}]}", &[("time_reversal", 2)])]
    #[case("{edits: [{make: {at: 0, member: /credentialSubject/chain/terminal, value: true}}]}", &[("chain_reopened", 2)])]
    #[case("{edits: [{make: {at: 2, member: /credentialSubject/chain/status, value: complete}}]}", &[("status_without_terminal", 3)])]
    #[case("{edits: [{make: {at: 2, member: /credentialSubject/chain/status, value: odd}}]}", &[("bad_status", 3)])]
    #[case("{edits: [{set: {at: 1, member: /proof/proofPurpose, value: x}}]}", &[("proof_purpose", 2)])]
    #[case("{edits: [{set: {at: 1, member: /proof/verificationMethod, value: x}}]}", &[("verification_method", 2)])]
    #[case("{edits: [{set: {at: 1, member: /proof/type, value: x}}]}", &[("bad_signature", 2)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/action/tool_name, value: x}}]}", &[("malformed", 2)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/principal}}]}", &[("malformed", 2)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/action/peer_credential}}]}", &[("no_peer", 2)])]
    #[case("{edits: [{make: {at: 1, member: /issuer/name, 'null': true}}]}", &[("null_member", 2)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/action/parameters_hash, value: 'sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b'}}]}", &[("null_hash", 2)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/action/type, value: unknown}}]}", &[("unknown_without_target", 2)])]
    #[case("{edits: [{make: {at: 1, member: /credentialSubject/action/emitter_metadata, value: {drop_count: 3}}}]}", &[("lone_drop", 2)])]
    #[case("{edits: [{line: {at: 1, from: '{', to: '{ '}}]}", &[("not_canonical", 2)])]
    #[case("{edits: [{line: {at: 1, from: '\"version\":', to: '\"version\":\"0.5.0\",\"version\":'}}]}", &[("duplicate_key", 2), ("bad_link", 3), ("bad_sequence", 3)])]
    #[case("{edits: [{line: {at: 2, from: '{', to: ''}}]}", &[("malformed", 3)])]
    fn the_verifier_finds_each_break(#[case] step: &str, #[case] wanted: &[(&str, usize)]) {
        let (mut found, mut wanted) = (found(step), wanted.to_vec());
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{step}");
    }
}
