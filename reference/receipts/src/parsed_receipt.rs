//! A receipt as read from a file: its bytes decide, independent of the writer.

use ed25519_dalek::Signature;
use serde::Deserialize;
use serde_json::Value;

use super::{canonical, ijson};

/// The byte order mark that some editors put in front of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of a file, with the members that its chain needs.
#[derive(Debug)]
pub struct ParsedReceipt {
    /// Everything, as parsed.
    pub value: Value,
    /// The bytes that signature and hash cover.
    pub signed: Vec<u8>,
    /// The hash by which the next receipt refers to this one.
    pub hash: String,
    /// The members for verification.
    pub body: ParsedBody,
    /// The complaint of a strict reader about the JSON text.
    pub ambiguous: Option<String>,
    /// A number in the text that not every reader takes for the same.
    pub inexact: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedBody {
    pub id: String,
    pub version: Option<String>,
    pub issuer: ParsedIssuer,
    #[serde(rename = "issuanceDate")]
    pub issued: Option<String>,
    #[serde(rename = "credentialSubject")]
    pub subject: ParsedSubject,
    pub proof: Option<ParsedProof>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedIssuer {
    pub id: String,
    pub session_id: Option<String>,
    pub runtime: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedSubject {
    pub action: ParsedAction,
    pub outcome: ParsedOutcome,
    pub chain: ParsedChain,
    pub correlation_id: Option<String>,
    pub correlator: Option<String>,
    pub binding: Option<Value>,
    pub delegation: Option<ParsedDelegation>,
    #[serde(rename = "parentChainRef")]
    pub parent: Option<Value>,
    #[serde(rename = "keyRotation")]
    pub rotation: Option<KeyRotation>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedAction {
    #[serde(rename = "type")]
    pub kind: String,
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedOutcome {
    pub status: String,
    pub response_hash: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedChain {
    pub sequence: i64,
    #[serde(default)]
    pub previous_receipt_hash: Option<String>,
    pub chain_id: String,
    pub terminal: Option<bool>,
    pub status: Option<String>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedDelegation {
    pub parent_chain_id: String,
    pub parent_receipt_id: String,
    pub delegator: ParsedDelegator,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedDelegator {
    pub id: String,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct KeyRotation {
    pub event_type: String,
    pub new_public_key: String,
    pub old_key_fingerprint: String,
    pub new_key_fingerprint: String,
    pub old_algorithm: String,
    pub new_algorithm: String,
    pub signed_with: String,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs, reason = "members of a documented format, under its own names")]
pub struct ParsedProof {
    #[serde(rename = "type")]
    pub kind: String,
    pub created: Option<String>,
    #[serde(rename = "verificationMethod")]
    pub method: Option<String>,
    #[serde(rename = "proofPurpose")]
    pub purpose: Option<String>,
    #[serde(rename = "proofValue")]
    pub value: String,
}

/// Reads one receipt. A repeated member is read as by other verifiers, and noted.
pub fn read(text: &[u8]) -> Result<ParsedReceipt, String> {
    if text.starts_with(BYTE_ORDER_MARK) {
        return Err(
            "a byte order mark (EF BB BF) stands in front; save the file without".to_owned()
        );
    }
    let (value, ambiguous) = match canonical::parse(text) {
        Ok(value) => (value, None),
        Err(said) => {
            let value =
                serde_json::from_slice(text).map_err(|error| in_line(&error.to_string()))?;
            (value, Some(in_line(&said)))
        }
    };
    let inexact = ijson::inexact(text).map(str::to_owned);
    let body = ParsedBody::deserialize(&value).map_err(|error| error.to_string())?;
    let signed = canonical::signed_text(&value)?;
    let hash = canonical::digest(&signed);
    Ok(ParsedReceipt { value, signed, hash, body, ambiguous, inexact })
}

/// The error of a text that is one line of a file, which has a number of its own there.
fn in_line(said: &str) -> String {
    said.replace(" at line 1 column ", " at column ")
}

impl ParsedReceipt {
    /// Returns whether this receipt ends its chain.
    pub fn ends(&self) -> bool {
        self.body.subject.chain.terminal == Some(true)
    }

    /// The chain it says it belongs to.
    pub fn chain_id(&self) -> &str {
        &self.body.subject.chain.chain_id
    }

    /// The signature; an error says why there is none, in the words of the other verifiers.
    pub fn signature(&self) -> Result<Signature, String> {
        if let Some(number) = &self.inexact {
            return Err(ijson::complaint(number));
        }
        let proof = self.body.proof.as_ref().ok_or("receipt has no proof object")?;
        decode(&proof.kind, &proof.value)
    }
}

fn decode(kind: &str, value: &str) -> Result<Signature, String> {
    use base64::Engine as _;
    const TYPE: &str = "Ed25519Signature2020";
    if kind != TYPE {
        return Err(format!("unsupported proof type {kind:?}: only {TYPE} is accepted"));
    }
    let Some(prefix) = value.chars().next().filter(|_| value.len() >= 2) else {
        return Err("proof value too short".to_owned());
    };
    let Some(text) = value.strip_prefix('u') else {
        return Err(format!("unsupported multibase prefix: '{prefix}'"));
    };
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text);
    let bytes = bytes.map_err(|error| format!("decode proof value: {error}"))?;
    let length = bytes.len();
    Signature::from_slice(&bytes)
        .map_err(|_| format!("invalid signature length: got {length}, want 64"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        "RsaSignature2018",
        "u",
        r#"unsupported proof type "RsaSignature2018": only Ed25519Signature2020 is accepted"#
    )]
    #[case("Ed25519Signature2020", "u", "proof value too short")]
    #[case("Ed25519Signature2020", "", "proof value too short")]
    #[case("Ed25519Signature2020", "zAAAA", "unsupported multibase prefix: 'z'")]
    #[case("Ed25519Signature2020", "u!!!!", "decode proof value: ")]
    #[case("Ed25519Signature2020", "uAAAA", "invalid signature length: got 3, want 64")]
    fn why_there_is_no_signature(#[case] kind: &str, #[case] value: &str, #[case] says: &str) {
        let error = decode(kind, value).unwrap_err();
        assert!(error.starts_with(says), "{error}");
    }
}
