//! The harness's own verifier: every chain of an exported store, strictly. It shares no code with
//! what it verifies. Main function: [`verify`]. Pure.

mod chain;
mod pairs;
mod shape;
mod taxonomy;

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::DecodePublicKey;
use serde_json::Value;

use super::canonical::{self, TWICE};

/// A flaw of the exported receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptFlaw {
    /// Its word, one of [`boxproof_cases::case::FINDINGS`].
    pub word: &'static str,
    /// The line, from 1; of a whole chain the last one.
    pub line: usize,
    /// The flaw, in a few words.
    pub why: String,
}

impl ReceiptFlaw {
    fn new(word: &'static str, line: usize, why: impl Into<String>) -> Self {
        Self { word, line, why: why.into() }
    }
}

/// A receipt and the line that it stands on, from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedReceipt {
    /// The line.
    pub line: usize,
    /// The receipt as JSON.
    pub value: Value,
}

impl PlacedReceipt {
    /// The text at this JSON pointer.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str)
    }

    /// Its action's type.
    pub fn kind(&self) -> &str {
        self.text("/credentialSubject/action/type").unwrap_or_default()
    }

    /// Its chain.
    pub fn chain(&self) -> &str {
        self.text("/credentialSubject/chain/chain_id").unwrap_or_default()
    }

    /// Its place in the chain.
    pub fn sequence(&self) -> Option<u64> {
        self.value.pointer("/credentialSubject/chain/sequence").and_then(Value::as_u64)
    }

    /// Returns the member of the receipt's binding, in either profile.
    pub fn binding(&self, member: &str) -> Option<&str> {
        let places = ["/issuer/runtime/binding", "/credentialSubject/binding"];
        places.iter().find_map(|place| self.text(&format!("{place}/{member}")))
    }

    /// Returns the id that the receipt shares with those that belong to the same action.
    pub fn correlation(&self) -> Option<&str> {
        let places = ["correlation_id", "correlator"];
        places.iter().find_map(|name| self.text(&format!("/credentialSubject/{name}")))
    }

    /// Returns the number of dropped events that the receipt states.
    pub fn drops(&self) -> Option<i64> {
        let place = "/credentialSubject/action/emitter_metadata/drop_count";
        self.value.pointer(place).and_then(Value::as_i64)
    }

    /// Returns whether the receipt is one of the channel itself.
    pub fn is_of_channel(&self) -> bool {
        self.kind().starts_with("agent_receipts.")
    }
}

/// The public key in a PEM text.
///
/// # Errors
/// Returns an error when `pem` is no public key.
pub fn key_of(pem: &str) -> Result<VerifyingKey, String> {
    VerifyingKey::from_public_key_pem(pem.trim()).map_err(|error| format!("public key: {error}"))
}

/// The receipts of `lines` in their order, and what is wrong with how they are written.
pub fn read(lines: &[String]) -> (Vec<PlacedReceipt>, Vec<ReceiptFlaw>) {
    let (mut receipts, mut flaws) = (Vec::new(), Vec::new());
    for (at, text) in lines.iter().enumerate() {
        let line = at + 1;
        match canonical::strictly(text) {
            Ok(value) => {
                if canonical::canonical(&value).ok().as_deref() != Some(text.as_bytes()) {
                    flaws.push(ReceiptFlaw::new(
                        "not_canonical",
                        line,
                        "the line is no RFC 8785 text",
                    ));
                }
                receipts.push(PlacedReceipt { line, value });
            }
            Err(why) if why.contains(TWICE) => {
                flaws.push(ReceiptFlaw::new("duplicate_key", line, why));
            }
            Err(why) => flaws.push(ReceiptFlaw::new("malformed", line, why)),
        }
    }
    (receipts, flaws)
}

/// Lists the flaws of the exported `lines`, which `key` has signed.
pub fn verify(lines: &[String], key: &VerifyingKey) -> Vec<ReceiptFlaw> {
    let (receipts, mut flaws) = read(lines);
    flaws.extend(receipts.iter().flat_map(shape::flaws));
    let chains = chains(&receipts);
    for chain in chains.values() {
        flaws.extend(chain::flaws(chain, key));
        flaws.extend(pairs::drops(chain));
        flaws.extend(pairs::sessions(chain));
    }
    flaws.extend(pairs::anchors(&receipts, &chains));
    flaws.extend(pairs::bindings(&receipts));
    flaws.sort_by(|a, b| (a.line, a.word).cmp(&(b.line, b.word)));
    flaws
}

/// The receipts of one chain, as one who is given only these: every chain id must be the same.
pub fn verify_chain(receipts: &[PlacedReceipt], key: &VerifyingKey) -> Vec<ReceiptFlaw> {
    chain::flaws(&receipts.iter().collect::<Vec<_>>(), key)
}

/// Lists the flaws in the form of one receipt.
pub fn shape_of(receipt: &PlacedReceipt) -> Vec<ReceiptFlaw> {
    shape::flaws(receipt)
}

/// Returns chain → its receipts in the order of storage.
pub fn chains(receipts: &[PlacedReceipt]) -> BTreeMap<&str, Vec<&PlacedReceipt>> {
    let mut chains: BTreeMap<&str, Vec<&PlacedReceipt>> = BTreeMap::new();
    for receipt in receipts {
        chains.entry(receipt.chain()).or_default().push(receipt);
    }
    chains
}

/// The place of a word for risk among them, lowest first.
pub fn risk_rank(risk: &str) -> Option<usize> {
    taxonomy::rank(risk)
}
