//! The published schema of a receipt, as two tables: members of closed objects, and shapes.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::time;

/// A closed object: its path, its required members, its optional members.
type ClosedObject = (&'static str, &'static [&'static str], &'static [&'static str]);

const CLOSED: [ClosedObject; 12] = [
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
            // Not in the schema, but written by the published daemon: a warning reports it.
            "tool_name",
        ],
    ),
    ("/credentialSubject/action/target", &[], &["system", "resource"]),
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

/// The shape that a value must have where it is present.
enum ValueShape {
    Text,
    NonEmpty,
    Time,
    Like(&'static str),
    Int(i64),
    OneOf(&'static [&'static str]),
    Object,
    Bool,
    True,
    HashOrNull,
    Starts(&'static [&'static str]),
}

use ValueShape::{Bool, HashOrNull, Int, Like, NonEmpty, Object, OneOf, Starts, Text, Time, True};

const HASH: &str = "^sha256:[0-9a-f]{64}$";
const RECEIPT: &str = "^urn:receipt:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
const ACTION: &str = "^act_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
const SIGNATURE: &str = "^u[A-Za-z0-9_-]{86}$";
const VERSIONS: [&str; 7] = ["0.1.0", "0.2.0", "0.2.1", "0.3.0", "0.4.0", "0.5.0", "0.6.0"];

const SHAPES: [(&str, ValueShape); 48] = [
    ("/@context", Starts(&["https://www.w3.org/ns/credentials/v2"])),
    ("/id", Like(RECEIPT)),
    ("/type", Starts(&["VerifiableCredential", "AgentReceipt"])),
    ("/version", OneOf(&VERSIONS)),
    ("/issuer", Object),
    ("/issuer/id", Text),
    ("/issuer/type", Text),
    ("/issuer/name", Text),
    ("/issuer/model", Text),
    ("/issuer/session_id", Text),
    ("/issuer/operator", Object),
    ("/issuer/operator/id", Text),
    ("/issuer/operator/name", Text),
    ("/issuer/runtime", Object),
    ("/issuanceDate", Time),
    ("/credentialSubject", Object),
    ("/credentialSubject/principal", Object),
    ("/credentialSubject/principal/id", Text),
    ("/credentialSubject/principal/type", OneOf(&["HumanPrincipal", "OrganizationPrincipal"])),
    ("/credentialSubject/action/id", Like(ACTION)),
    ("/credentialSubject/action/type", Text),
    ("/credentialSubject/action/risk_level", OneOf(&["low", "medium", "high", "critical"])),
    ("/credentialSubject/action/timestamp", Time),
    ("/credentialSubject/action/target/system", Text),
    ("/credentialSubject/action/target/resource", Text),
    ("/credentialSubject/action/parameters_hash", Like(HASH)),
    ("/credentialSubject/action/parameters_disclosure", Object),
    ("/credentialSubject/action/peer_credential", Object),
    ("/credentialSubject/action/peer_credential/platform", Text),
    ("/credentialSubject/action/peer_credential/pid", Int(i64::MIN)),
    ("/credentialSubject/action/peer_credential/uid", Int(0)),
    ("/credentialSubject/action/peer_credential/gid", Int(0)),
    ("/credentialSubject/action/peer_credential/exe_path", Text),
    ("/credentialSubject/action/emitter_metadata", Object),
    ("/credentialSubject/action/emitter_metadata/drop_count", Int(0)),
    ("/credentialSubject/action/trusted_timestamp", Text),
    ("/credentialSubject/action/idempotency_key", NonEmpty),
    ("/credentialSubject/outcome/status", OneOf(&["success", "failure", "pending"])),
    ("/credentialSubject/outcome/error", Text),
    ("/credentialSubject/outcome/reversible", Bool),
    ("/credentialSubject/outcome/response_hash", Like(HASH)),
    ("/credentialSubject/outcome/reversal_of", Like(RECEIPT)),
    ("/credentialSubject/chain/sequence", Int(1)),
    ("/credentialSubject/chain/previous_receipt_hash", HashOrNull),
    ("/credentialSubject/chain/terminal", True),
    ("/credentialSubject/chain/status", OneOf(&["complete", "interrupted"])),
    ("/credentialSubject/correlation_id", NonEmpty),
    ("/credentialSubject/delegation/parent_receipt_id", Like(RECEIPT)),
];

const PROOF: [(&str, ValueShape); 4] = [
    ("/proof/type", OneOf(&["Ed25519Signature2020"])),
    ("/proof/created", Time),
    ("/proof/verificationMethod", NonEmpty),
    ("/proof/proofValue", Like(SIGNATURE)),
];

static PATTERNS: LazyLock<Vec<(&'static str, Option<Regex>)>> = LazyLock::new(|| {
    [HASH, RECEIPT, ACTION, SIGNATURE].map(|text| (text, Regex::new(text).ok())).into()
});

/// Returns the violations of the schema in a receipt.
pub(super) fn complaints(receipt: &Value) -> Vec<String> {
    let mut found: Vec<String> = CLOSED.iter().flat_map(|rule| members(receipt, *rule)).collect();
    let shapes = SHAPES.iter().chain(&PROOF);
    found.extend(shapes.filter_map(|(path, shape)| {
        let value = receipt.pointer(path)?;
        (!shape.fits(value)).then(|| format!("{path}: {value} is not {}", shape.expectation()))
    }));
    found.extend(unknown_needs_target(receipt));
    found.extend(status_needs_end(receipt));
    found
}

fn members(receipt: &Value, (path, must, may): ClosedObject) -> Vec<String> {
    let Some(Value::Object(object)) = receipt.pointer(path) else { return Vec::new() };
    let missing = must.iter().filter(|name| !object.contains_key(**name));
    let known = |name: &str| must.contains(&name) || may.contains(&name);
    let strange = object.keys().filter(|name| !known(name));
    let missing = missing.map(|name| format!("{path}/{name}: missing"));
    missing.chain(strange.map(|name| format!("{path}/{name}: unknown member"))).collect()
}

fn unknown_needs_target(receipt: &Value) -> Option<String> {
    let action = receipt.pointer("/credentialSubject/action")?;
    let unknown = action.get("type")? == "unknown" && action.pointer("/target/system").is_none();
    unknown.then(|| "/credentialSubject/action/target/system: missing".to_owned())
}

fn status_needs_end(receipt: &Value) -> Option<String> {
    let chain: &Map<String, Value> = receipt.pointer("/credentialSubject/chain")?.as_object()?;
    let alone = chain.contains_key("status") && !chain.contains_key("terminal");
    alone.then(|| "/credentialSubject/chain/status: without terminal".to_owned())
}

impl ValueShape {
    /// Returns the description of the expected value.
    fn expectation(&self) -> String {
        let listed = |words: &[&str], between| words.join(between);
        match self {
            Text => "a text".to_owned(),
            NonEmpty => "a text of one character or more".to_owned(),
            Time => "an RFC 3339 time".to_owned(),
            Like(pattern) => format!("a text like {pattern}"),
            Int(i64::MIN) => "an integer".to_owned(),
            Int(least) => format!("an integer from {least}"),
            OneOf(words) => format!("one of {}", listed(words, ", ")),
            Object => "an object".to_owned(),
            Bool => "true or false".to_owned(),
            True => "true".to_owned(),
            HashOrNull => format!("null or a text like {HASH}"),
            Starts(words) => format!("a list that begins with {}", listed(words, " and ")),
        }
    }

    fn fits(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Text => text.is_some(),
            NonEmpty => text.is_some_and(|text| !text.is_empty()),
            Time => text.and_then(time::parse).is_some(),
            Like(pattern) => text.is_some_and(|text| matches(pattern, text)),
            Int(least) => value.as_i64().is_some_and(|number| number >= *least),
            OneOf(words) => text.is_some_and(|text| words.contains(&text)),
            Object => value.is_object(),
            Bool => value.is_boolean(),
            True => *value == Value::Bool(true),
            HashOrNull => value.is_null() || Like(HASH).fits(value),
            Starts(words) => value.as_array().is_some_and(|items| {
                words.iter().enumerate().all(|(at, word)| items.get(at).is_some_and(|i| i == word))
            }),
        }
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let found = PATTERNS.iter().find(|(known, _)| *known == pattern);
    found.and_then(|(_, regex)| regex.as_ref()).is_some_and(|regex| regex.is_match(text))
}
