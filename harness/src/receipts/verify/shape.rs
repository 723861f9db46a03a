//! The form of one receipt: members, types and patterns of the published schema, by hand.

use serde_json::{Map, Value};

use super::taxonomy::{RISKS, is_lowered};
use super::{PlacedReceipt, ReceiptFlaw};

const VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.2.1", "0.3.0", "0.4.0", "0.5.0", "0.6.0"];

/// The place of a closed object: required members, optional members.
type ClosedObject = (&'static str, &'static [&'static str], &'static [&'static str]);

const CLOSED: &[ClosedObject] = &[
    (
        "",
        &[
            "@context",
            "id",
            "type",
            "version",
            "issuer",
            "issuanceDate",
            "credentialSubject",
            "proof",
        ],
        &[],
    ),
    ("/issuer", &["id"], &["type", "name", "model", "session_id", "operator", "runtime"]),
    ("/issuer/operator", &["id", "name"], &[]),
    ("/credentialSubject/principal", &["id"], &["type"]),
    (
        "/credentialSubject/action",
        &["id", "type", "risk_level", "timestamp"],
        &[
            "target",
            "parameters_hash",
            "parameters_disclosure",
            "peer_credential",
            "emitter_metadata",
            "trusted_timestamp",
            "idempotency_key",
        ],
    ),
    ("/credentialSubject/action/target", &["system"], &["resource"]),
    (
        "/credentialSubject/action/peer_credential",
        &["platform", "pid"],
        &["uid", "gid", "exe_path"],
    ),
    ("/credentialSubject/action/emitter_metadata", &[], &["drop_count"]),
    (
        "/credentialSubject/outcome",
        &["status"],
        &[
            "error",
            "reversible",
            "reversal_method",
            "reversal_window_seconds",
            "reversal_of",
            "state_change",
            "response_hash",
            "response_disclosure",
        ],
    ),
    (
        "/credentialSubject/chain",
        &["sequence", "previous_receipt_hash", "chain_id"],
        &["terminal", "status"],
    ),
    ("/credentialSubject/delegation", &["parent_chain_id", "parent_receipt_id", "delegator"], &[]),
    ("/proof", &["type", "created", "verificationMethod", "proofPurpose", "proofValue"], &[]),
];

/// Objects that must be there, closed or not.
const OBJECTS: [&str; 7] = [
    "/issuer",
    "/credentialSubject",
    "/credentialSubject/principal",
    "/credentialSubject/action",
    "/credentialSubject/outcome",
    "/credentialSubject/chain",
    "/proof",
];

/// `sha256` of the text `null`: the result of a careless hash of nothing.
const HASH_OF_NULL: &str =
    "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";

/// Lists the flaws in the form of `receipt`.
pub(super) fn flaws(receipt: &PlacedReceipt) -> Vec<ReceiptFlaw> {
    let mut said = Vec::new();
    members(&receipt.value, &mut said);
    texts(receipt, &mut said);
    hashes(receipt, &mut said);
    meaning(receipt, &mut said);
    nulls(&receipt.value, "", &mut said);
    said.into_iter().map(|(word, why)| ReceiptFlaw::new(word, receipt.line, why)).collect()
}

/// Flaws of one receipt, on the way to being placed.
type FlawSink = Vec<(&'static str, String)>;

fn members(receipt: &Value, said: &mut FlawSink) {
    for pointer in OBJECTS {
        if !receipt.pointer(pointer).is_some_and(Value::is_object) {
            said.push(("malformed", format!("{pointer} is no object")));
        }
    }
    for (pointer, required, optional) in CLOSED {
        let Some(object) = receipt.pointer(pointer).and_then(Value::as_object) else { continue };
        let lacks = required.iter().filter(|name| !object.contains_key(**name));
        said.extend(lacks.map(|name| ("malformed", format!("{pointer}/{name} is missing"))));
        let strange = object.keys().filter(|name| {
            !required.contains(&name.as_str()) && !optional.contains(&name.as_str())
        });
        said.extend(strange.map(|name| ("malformed", format!("{pointer}/{name} is not known"))));
    }
}

fn texts(receipt: &PlacedReceipt, said: &mut FlawSink) {
    let text = |pointer: &str| receipt.text(pointer).unwrap_or_default();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            said.push(("malformed", what.to_owned()));
        }
    };
    must(is_named(text("/id"), "urn:receipt:"), "/id is no urn of a lower-case uuid");
    let action = "/credentialSubject/action";
    must(is_named(text(&format!("{action}/id")), "act_"), "the action's id is no act_ and uuid");
    must(VERSIONS.contains(&text("/version")), "/version is not known");
    must(has_context(receipt), "/@context does not go with the version");
    let kind = serde_json::json!(["VerifiableCredential", "AgentReceipt"]);
    must(receipt.value.get("type") == Some(&kind), "/type is another one");
    must(RISKS.contains(&text(&format!("{action}/risk_level"))), "the risk is no known word");
    let statuses = ["success", "failure", "pending"];
    must(
        statuses.contains(&text("/credentialSubject/outcome/status")),
        "the status is no known word",
    );
    let dates = ["/issuanceDate", "/proof/created", "/credentialSubject/action/timestamp"];
    for date in dates {
        must(humantime::parse_rfc3339(text(date)).is_ok(), &format!("{date} is no time"));
    }
    let sequence = receipt.sequence().is_some_and(|number| number >= 1);
    must(sequence, "the sequence is no number from 1");
    let drops = receipt.value.pointer("/credentialSubject/action/emitter_metadata/drop_count");
    must(
        drops.is_none() || receipt.drops().is_some_and(|drops| drops >= 0),
        "a drop count below 0",
    );
    let terminal = receipt.value.pointer("/credentialSubject/chain/terminal");
    must(terminal.is_none_or(|is| *is == Value::Bool(true)), "terminal is only ever true");
    must(!receipt.kind().is_empty(), "the action has no type");
    must(!receipt.chain().is_empty(), "the chain has no id");
}

/// Returns whether `text` is `prefix` and a lower-case uuid.
fn is_named(text: &str, prefix: &str) -> bool {
    let uuid = text.strip_prefix(prefix).unwrap_or_default();
    let lower = !uuid.bytes().any(|byte| byte.is_ascii_uppercase());
    uuid.len() == 36 && lower && uuid::Uuid::try_parse(uuid).is_ok()
}

fn has_context(receipt: &PlacedReceipt) -> bool {
    let own = match receipt.text("/version") {
        Some("0.5.0") => "https://agentreceipts.ai/context/v2",
        Some("0.6.0") => "https://agentreceipts.ai/context/v3",
        _ => "https://agentreceipts.ai/context/v1",
    };
    let wanted = serde_json::json!(["https://www.w3.org/ns/credentials/v2", own]);
    receipt.value.get("@context") == Some(&wanted)
}

fn hashes(receipt: &PlacedReceipt, said: &mut FlawSink) {
    let places = [
        "/credentialSubject/action/parameters_hash",
        "/credentialSubject/outcome/response_hash",
        super::canonical::PREVIOUS,
    ];
    for place in places {
        match receipt.value.pointer(place) {
            None | Some(Value::Null) => {}
            Some(Value::String(hash)) if hash == HASH_OF_NULL => {
                said.push(("null_hash", format!("{place} is the hash of null")));
            }
            Some(Value::String(hash)) if is_hash(hash) => {}
            Some(_) => said.push(("malformed", format!("{place} is no hash"))),
        }
    }
}

fn is_hash(text: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.strip_prefix("sha256:").is_some_and(|rest| rest.len() == 64 && rest.bytes().all(hex))
}

fn meaning(receipt: &PlacedReceipt, said: &mut FlawSink) {
    let kind = receipt.kind();
    let risk = receipt.text("/credentialSubject/action/risk_level").unwrap_or_default();
    if is_lowered(kind, risk) {
        said.push(("risk_lowered", format!("{kind} is no {risk} risk")));
    }
    let system = receipt.text("/credentialSubject/action/target/system").unwrap_or_default();
    if kind == "unknown" && system.is_empty() {
        said.push(("unknown_without_target", "an unknown action says on what".to_owned()));
    }
    let purpose = receipt.text("/proof/proofPurpose").unwrap_or_default();
    if purpose != "assertionMethod" {
        said.push(("proof_purpose", format!("`{purpose}` is not assertionMethod")));
    }
    let issuer = receipt.text("/issuer/id").unwrap_or_default();
    let method = receipt.text("/proof/verificationMethod").unwrap_or_default();
    if issuer.is_empty() || !method.starts_with(&format!("{issuer}#")) {
        said.push(("verification_method", format!("`{method}` is no key of `{issuer}`")));
    }
    let peer = receipt.value.pointer("/credentialSubject/action/peer_credential");
    if peer.is_none() && !receipt.is_of_channel() {
        said.push(("no_peer", "no line says which process handed the event over".to_owned()));
    }
}

/// Checks that only one member is null.
fn nulls(value: &Value, place: &str, said: &mut FlawSink) {
    match value {
        Value::Null if place != super::canonical::PREVIOUS => {
            said.push(("null_member", format!("{place} is null")));
        }
        Value::Object(members) => below(members, place, said),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                nulls(item, &format!("{place}/{at}"), said);
            }
        }
        _ => {}
    }
}

fn below(members: &Map<String, Value>, place: &str, said: &mut FlawSink) {
    for (name, value) in members {
        nulls(value, &format!("{place}/{name}"), said);
    }
}
