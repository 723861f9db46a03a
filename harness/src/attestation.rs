//! Signed statements about records ([`sign`], [`verify`]): an in-toto statement with the digest of
//! the record, in a DSSE envelope, by Ed25519. Neither end asks anything of a network.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ed25519_dalek::pkcs8::EncodePublicKey as _;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The type of what an envelope holds.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The type of a statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the words about a record.
const PREDICATE_TYPE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/record/v1");

/// The origin of a record, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordOrigin {
    /// `run` or `timing`.
    pub kind: String,
    /// The version of the boxproof that wrote it.
    pub harness: String,
    /// The start of the run, RFC 3339 in UTC.
    pub started: String,
    /// The commit that was judged, if it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The reason why an envelope vouches for nothing.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AttestationRefusal {
    /// The envelope ends too early.
    #[error("the envelope was cut short: {0}")]
    CutShort(String),
    /// The envelope is none.
    #[error("this is no DSSE envelope: {0}")]
    NoEnvelope(String),
    /// It holds something else.
    #[error("the envelope holds `{0}`, not {PAYLOAD_TYPE}")]
    OtherPayload(String),
    /// No signature is by the key.
    #[error(
        "none of its {count} signatures is by the key {key}: another key made it, or it was changed"
    )]
    OtherKey {
        /// The number of signatures.
        count: usize,
        /// The id of the key.
        key: String,
    },
    /// The signed statement is of something else.
    #[error("the signed statement is not about a record: {0}")]
    OtherStatement(String),
    /// The record is not the signed one.
    #[error("the record was changed: its sha256 is {found}, and {signed} is signed")]
    ChangedRecord {
        /// The digest of the record.
        found: String,
        /// The signed digests.
        signed: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DsseEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<DsseSignature>,
}

#[derive(Serialize, Deserialize)]
struct DsseSignature {
    /// A hint that nothing relies on.
    #[serde(default)]
    keyid: String,
    sig: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordStatement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<StatementSubject>,
    predicate_type: String,
    predicate: RecordOrigin,
}

#[derive(Serialize, Deserialize)]
struct StatementSubject {
    name: String,
    digest: SubjectDigest,
}

/// Other algorithms may stand beside it.
#[derive(Serialize, Deserialize)]
struct SubjectDigest {
    sha256: String,
}

/// Returns the envelope, one line of JSON, in which `key` vouches for `record`, called `name`.
///
/// # Errors
/// Never, as far as is known.
pub fn sign(
    key: &SigningKey,
    (name, record): (&str, &[u8]),
    origin: RecordOrigin,
) -> Result<Vec<u8>, serde_json::Error> {
    let statement = RecordStatement {
        kind: STATEMENT_TYPE.to_owned(),
        subject: vec![StatementSubject {
            name: name.to_owned(),
            digest: SubjectDigest { sha256: sha256(record) },
        }],
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: origin,
    };
    let payload = serde_json::to_vec(&statement)?;
    let signature = key.sign(&signed_bytes(PAYLOAD_TYPE, &payload));
    let envelope = DsseEnvelope {
        payload: STANDARD.encode(&payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![DsseSignature {
            keyid: key_id(&key.verifying_key()),
            sig: STANDARD.encode(signature.to_bytes()),
        }],
    };
    let mut bytes = serde_json::to_vec(&envelope)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Checks that by `envelope` the holder of `key` vouches for exactly the bytes of `record`; returns
/// what is signed of its origin.
///
/// # Errors
/// The reason why it does not.
pub fn verify(
    key: &VerifyingKey,
    envelope: &[u8],
    record: &[u8],
) -> Result<RecordOrigin, AttestationRefusal> {
    let envelope: DsseEnvelope =
        serde_json::from_slice(envelope).map_err(|error| match error.is_eof() {
            true => AttestationRefusal::CutShort(error.to_string()),
            false => AttestationRefusal::NoEnvelope(error.to_string()),
        })?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(AttestationRefusal::OtherPayload(envelope.payload_type));
    }
    let payload = decoded(&envelope.payload)
        .ok_or_else(|| AttestationRefusal::NoEnvelope("its payload is no base64".to_owned()))?;
    let signed = signed_bytes(&envelope.payload_type, &payload);
    let is_by_key = |signature: &DsseSignature| {
        let bytes = decoded(&signature.sig).unwrap_or_default();
        let signature = Signature::from_slice(&bytes);
        signature.is_ok_and(|signature| key.verify_strict(&signed, &signature).is_ok())
    };
    if !envelope.signatures.iter().any(is_by_key) {
        let count = envelope.signatures.len();
        return Err(AttestationRefusal::OtherKey { count, key: key_id(key) });
    }
    vouched(&payload, record)
}

/// Checks that the statement in `payload` is about `record`.
fn vouched(payload: &[u8], record: &[u8]) -> Result<RecordOrigin, AttestationRefusal> {
    let other = |why: String| AttestationRefusal::OtherStatement(why);
    let statement: RecordStatement =
        serde_json::from_slice(payload).map_err(|error| other(error.to_string()))?;
    for (found, wanted) in
        [(&statement.kind, STATEMENT_TYPE), (&statement.predicate_type, PREDICATE_TYPE)]
    {
        if found != wanted {
            return Err(other(format!("it is of type `{found}`, not {wanted}")));
        }
    }
    let found = sha256(record);
    let signed: Vec<&str> =
        statement.subject.iter().map(|subject| subject.digest.sha256.as_str()).collect();
    if signed.contains(&found.as_str()) {
        return Ok(statement.predicate);
    }
    let signed = if signed.is_empty() { "nothing".to_owned() } else { signed.join(" or ") };
    Err(AttestationRefusal::ChangedRecord { found, signed })
}

/// The bytes that a signature is over: DSSE's pre-authentication encoding, version 1.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// Reads base64 of either alphabet, as verifiers of DSSE have to.
fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// The SHA-256 of a key as `openssl pkey -pubout -outform DER` writes it.
pub fn key_id(key: &VerifyingKey) -> String {
    let form = key.to_public_key_der().map(|form| form.as_bytes().to_vec());
    sha256(&form.unwrap_or_default())
}

/// The SHA-256 of `bytes`, lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    const RECORD: &[u8] = b"{\"type\":\"header\"}\n{\"type\":\"footer\"}\n";

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn origin() -> RecordOrigin {
        RecordOrigin {
            kind: "run".to_owned(),
            harness: "0.1.0".to_owned(),
            started: "2026-08-01T10:00:00Z".to_owned(),
            commit: Some("abc".to_owned()),
        }
    }

    fn signed() -> Vec<u8> {
        sign(&key(7), ("run.ndjson", RECORD), origin()).unwrap()
    }

    fn verified(envelope: &[u8]) -> Result<RecordOrigin, AttestationRefusal> {
        verify(&key(7).verifying_key(), envelope, RECORD)
    }

    /// Signs `payload`, of type `kind`, by the right key.
    fn enveloped(kind: &str, payload: &[u8]) -> Vec<u8> {
        let signature = key(7).sign(&signed_bytes(kind, payload)).to_bytes();
        let signatures = json!([{"sig": STANDARD.encode(signature)}]);
        let payload = STANDARD.encode(payload);
        json!({"payload": payload, "payloadType": kind, "signatures": signatures})
            .to_string()
            .into()
    }

    #[test]
    fn a_signed_record_verifies_and_says_where_it_is_from() {
        assert_eq!(verified(&signed()), Ok(origin()));
    }

    #[test]
    fn the_signed_bytes_are_those_of_the_protocol() {
        // The example of the specification.
        let found = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(found, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn the_payload_is_a_statement_of_in_toto() {
        let envelope: Value = serde_json::from_slice(&signed()).unwrap();
        let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        let statement: Value = serde_json::from_slice(&payload).unwrap();
        let wanted = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "run.ndjson", "digest": {"sha256": sha256(RECORD)}}],
            "predicateType": "https://github.com/boxproof/boxproof/record/v1",
            "predicate": {"kind": "run", "harness": "0.1.0", "started": "2026-08-01T10:00:00Z",
                          "commit": "abc"}
        });
        assert_eq!(statement, wanted);
    }

    #[test]
    fn another_key_or_record_is_refused() {
        let refused = verify(&key(8).verifying_key(), &signed(), RECORD).unwrap_err();
        assert!(matches!(refused, AttestationRefusal::OtherKey { count: 1, .. }), "{refused}");
        let changed = [RECORD, b"\n"].concat();
        let refused = verify(&key(7).verifying_key(), &signed(), &changed).unwrap_err();
        let (found, signed) = (sha256(&changed), sha256(RECORD));
        assert_eq!(refused, AttestationRefusal::ChangedRecord { found, signed });
    }

    #[test]
    fn no_piece_of_an_envelope_verifies() {
        let whole = signed();
        let whole = whole.trim_ascii_end();
        for length in 0..whole.len() {
            let refused = verified(&whole[..length]).unwrap_err();
            assert!(matches!(refused, AttestationRefusal::CutShort(_)), "{length}: {refused}");
        }
    }

    #[test]
    fn no_changed_letter_of_an_envelope_verifies() {
        let whole = String::from_utf8(signed()).unwrap();
        let text: Value = serde_json::from_str(&whole).unwrap();
        for part in
            [text["payload"].as_str().unwrap(), text["signatures"][0]["sig"].as_str().unwrap()]
        {
            let changed = match &part[..1] {
                "A" => part.replacen('A', "B", 1),
                first => part.replacen(first, "A", 1),
            };
            verified(whole.replace(part, &changed).as_bytes()).unwrap_err();
        }
    }

    #[rstest]
    #[case::other_type(
        "application/vnd.in-toto+json; v=2",
        "{}",
        "the envelope holds `application"
    )]
    #[case::no_statement(PAYLOAD_TYPE, "[]", "not about a record")]
    #[case::other_statement(
        PAYLOAD_TYPE,
        r#"{"_type": "x", "subject": [], "predicateType": "y", "predicate": {"kind": "run",
            "harness": "1", "started": "2"}}"#,
        "it is of type `x`"
    )]
    #[case::nothing_signed(
        PAYLOAD_TYPE,
        r#"{"_type": "https://in-toto.io/Statement/v1", "subject": [], "predicateType":
            "https://github.com/boxproof/boxproof/record/v1", "predicate": {"kind": "run",
            "harness": "1", "started": "2"}}"#,
        "and nothing is signed"
    )]
    fn what_is_signed_and_something_else_is_refused(
        #[case] kind: &str,
        #[case] payload: &str,
        #[case] words: &str,
    ) {
        let refused = verified(&enveloped(kind, payload.as_bytes())).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }

    #[rstest]
    #[case(
        r#"{"payload": "", "payloadType": "application/vnd.in-toto+json", "signatures": []}"#,
        "none of its 0 signatures"
    )]
    #[case(
        r#"{"payload": "*", "payloadType": "application/vnd.in-toto+json", "signatures": []}"#,
        "its payload is no base64"
    )]
    #[case("{}", "this is no DSSE envelope: missing field `payload`")]
    #[case("", "the envelope was cut short")]
    fn what_is_no_envelope_is_refused(#[case] envelope: &str, #[case] words: &str) {
        let refused = verified(envelope.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }

    #[test]
    fn another_signature_beside_ours_and_the_other_alphabet_do_no_harm() {
        let mut envelope: Value = serde_json::from_slice(&signed()).unwrap();
        let ours = envelope["signatures"][0]["sig"].as_str().unwrap();
        let other = ours.replace('+', "-").replace('/', "_");
        envelope["signatures"] = json!([{"sig": "AAAA"}, {"sig": other, "keyid": "unknown"}]);
        assert_eq!(verified(envelope.to_string().as_bytes()), Ok(origin()));
    }
}
