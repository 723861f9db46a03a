//! One chain, in the given order: signatures, links, sequence, rotation, ends.

use std::collections::BTreeMap;

use ed25519_dalek::VerifyingKey;
use serde::Serialize;

use super::rotation;
use crate::canonical;
use crate::parsed_receipt::ParsedReceipt;

/// Facts about a chain that its receipts do not hold.
#[derive(Debug, Clone, Default)]
pub struct ChainExpectations {
    /// The number of receipts that it must have.
    pub expected_length: Option<usize>,
    /// The hash of its last receipt.
    pub expected_final_hash: Option<String>,
    /// It must have ended.
    pub require_terminal: bool,
    /// JSON texts of responses, by the ids of their receipts.
    pub bodies: BTreeMap<String, Vec<u8>>,
}

/// The result for one receipt.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct CheckedReceipt {
    /// Its place, from 0.
    pub index: usize,
    /// Its id.
    pub receipt_id: String,
    /// The signature holds under the key of that moment.
    pub signature_valid: bool,
    /// It names the hash of the receipt before it.
    pub hash_link_valid: bool,
    /// It counts on by one.
    pub sequence_valid: bool,
}

/// The result for a chain.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChainVerification {
    /// The chain that the first receipt names.
    pub chain_id: String,
    /// Nothing is wrong.
    pub valid: bool,
    /// The number of given receipts.
    pub length: usize,
    /// `complete`, `interrupted`, or `unknown` if it has no end.
    pub status: &'static str,
    /// Each receipt.
    pub receipts: Vec<CheckedReceipt>,
    /// The first place where something is wrong, or -1.
    pub broken_at: i64,
    /// The error, where it is more than a receipt's own checks show.
    pub error: String,
    /// The note on a response that could not be compared.
    pub response_hash_note: String,
    /// Findings that are no errors.
    pub warnings: Vec<String>,
    /// The last call has no result.
    pub incomplete_tool_roundtrip: bool,
    /// Terminals were not opened as often as closed.
    pub incomplete_session: bool,
}

/// An error of the walk: its place, its rank among errors of one place, its text.
type ChainFault = (usize, u8, String);

/// Verifies `receipts` as one chain whose first receipt is signed with `key`.
pub fn verify(
    receipts: &[ParsedReceipt],
    key: &VerifyingKey,
    options: &ChainExpectations,
) -> ChainVerification {
    let refs: Vec<&ParsedReceipt> = receipts.iter().collect();
    verify_refs(&refs, key, options)
}

pub(super) fn verify_refs(
    receipts: &[&ParsedReceipt],
    key: &VerifyingKey,
    options: &ChainExpectations,
) -> ChainVerification {
    let mut found = ChainVerification {
        chain_id: receipts.first().map(|r| r.chain_id().to_owned()).unwrap_or_default(),
        valid: true,
        length: receipts.len(),
        status: status(receipts),
        broken_at: -1,
        warnings: repeated_keys(receipts),
        incomplete_tool_roundtrip: receipts
            .last()
            .is_some_and(|last| !last.ends() && last.body.subject.outcome.status == "pending"),
        incomplete_session: sessions(receipts) != 0,
        ..ChainVerification::default()
    };
    let mut walk = ChainWalk { key: *key, faults: Vec::new(), broken: Vec::new() };
    found.receipts = walk.all(receipts);
    let fault = walk.faults.iter().min().cloned();
    walk.broken.extend(walk.faults.iter().map(|(at, ..)| *at));
    let broken = walk.broken.iter().min().copied();
    if let Some(at) = foreign(receipts) {
        found.fail(at, foreign_text(receipts, at));
    } else if let Some(at) = after_end(receipts) {
        let early = fault.filter(|(index, ..)| *index <= at);
        let text = early.map_or_else(|| after_end_text(at), |(.., text)| text);
        found.fail(broken.map_or(at, |broken| broken.min(at)), text);
    } else if let Some(at) = broken {
        found.fail(at, fault.map(|(.., text)| text).unwrap_or_default());
    }
    bodies(&mut found, receipts, options);
    if found.valid {
        out_of_band(&mut found, receipts, options);
    }
    found
}

impl ChainVerification {
    fn fail(&mut self, at: usize, error: String) {
        self.valid = false;
        self.broken_at = i64::try_from(at).unwrap_or(i64::MAX);
        self.error = error;
    }
}

fn status(receipts: &[&ParsedReceipt]) -> &'static str {
    match receipts.last() {
        Some(last) if last.ends() => match last.body.subject.chain.status.as_deref() {
            Some("interrupted") => "interrupted",
            _ => "complete",
        },
        _ => "unknown",
    }
}

fn repeated_keys(receipts: &[&ParsedReceipt]) -> Vec<String> {
    let mut places: Vec<(&str, Vec<String>)> = Vec::new();
    for (index, receipt) in receipts.iter().enumerate() {
        let Some(key) = receipt.body.subject.action.idempotency_key.as_deref() else { continue };
        match places.iter_mut().find(|(known, _)| *known == key) {
            Some((_, at)) => at.push(index.to_string()),
            None => places.push((key, vec![index.to_string()])),
        }
    }
    let repeated = places.into_iter().filter(|(_, at)| at.len() > 1);
    let tell = |(key, at): (&str, Vec<String>)| {
        let at = at.join(", ");
        format!(
            "duplicate idempotency_key {key:?} on receipts at indices {at} \
             (retries are legitimate; review for double-counting)"
        )
    };
    repeated.map(tell).collect()
}

/// Terminals opened, less those closed.
fn sessions(receipts: &[&ParsedReceipt]) -> i64 {
    let of = |receipt: &&ParsedReceipt| match receipt.body.subject.action.kind.as_str() {
        "system.pty.open" => 1,
        "system.pty.close" => -1,
        _ => 0,
    };
    receipts.iter().map(of).sum()
}

/// The pass over a chain, with the key that is active at each place.
struct ChainWalk {
    key: VerifyingKey,
    faults: Vec<ChainFault>,
    broken: Vec<usize>,
}

impl ChainWalk {
    fn all(&mut self, receipts: &[&ParsedReceipt]) -> Vec<CheckedReceipt> {
        let before = std::iter::once(None).chain(receipts.iter().map(|r| Some(*r)));
        let pairs = receipts.iter().zip(before).enumerate();
        pairs.map(|(index, (receipt, before))| self.one(index, receipt, before)).collect()
    }

    fn one(
        &mut self,
        index: usize,
        receipt: &ParsedReceipt,
        before: Option<&ParsedReceipt>,
    ) -> CheckedReceipt {
        if let Some(text) = end_fault(index, receipt) {
            self.faults.push((index, 3, text));
        }
        let signature_valid = match receipt.signature() {
            Ok(_) if fault!("receipts.signatures-unverified") => true,
            Ok(signature) => self.key.verify_strict(&receipt.signed, &signature).is_ok(),
            Err(error) => {
                let text = format!("signature compute failed at index {index}: {error}");
                self.faults.push((index, 0, text));
                false
            }
        };
        let chain = &receipt.body.subject.chain;
        let checked = CheckedReceipt {
            index,
            receipt_id: receipt.body.id.clone(),
            signature_valid,
            hash_link_valid: fault!("receipts.links-unverified")
                || chain.previous_receipt_hash.as_ref() == before.map(|b| &b.hash),
            sequence_valid: match before {
                _ if fault!("receipts.sequence-unverified") => true,
                None => chain.sequence >= 1,
                Some(before) => {
                    before.body.subject.chain.sequence.checked_add(1) == Some(chain.sequence)
                }
            },
        };
        if !(checked.signature_valid && checked.hash_link_valid && checked.sequence_valid) {
            self.broken.push(index);
        }
        self.rotate(index, receipt, signature_valid);
        checked
    }

    /// Takes over a new key, if the receipt that names it is itself signed with the old one.
    fn rotate(&mut self, index: usize, receipt: &ParsedReceipt, signature_valid: bool) {
        let Some(event) = &receipt.body.subject.rotation else { return };
        match rotation::incoming(&self.key, event) {
            Ok(key) if signature_valid || fault!("receipts.rotation-unsigned") => self.key = key,
            Ok(_) => {}
            Err(error) => {
                self.faults.push((
                    index,
                    1,
                    format!("key rotation invalid at index {index}: {error}"),
                ));
            }
        }
    }
}

/// Returns the error in a receipt's statement about the end of its chain.
fn end_fault(index: usize, receipt: &ParsedReceipt) -> Option<String> {
    let status =
        receipt.body.subject.chain.status.as_deref().filter(|status| !status.is_empty())?;
    if !matches!(status, "complete" | "interrupted") {
        return Some(format!(
            "invalid chain.status value at index {index}: \
             {status} is not a valid wire value (spec §7.3.3)"
        ));
    }
    let without = !receipt.ends();
    without.then(|| {
        format!("chain.status without chain.terminal: true at index {index} (spec §7.3.3)")
    })
}

fn foreign(receipts: &[&ParsedReceipt]) -> Option<usize> {
    let first = receipts.first()?.chain_id();
    let other = |receipt: &&ParsedReceipt| receipt.chain_id() != first;
    receipts.iter().position(other).filter(|_| !fault!("receipts.other-chain"))
}

fn foreign_text(receipts: &[&ParsedReceipt], at: usize) -> String {
    let id = |index: usize| receipts.get(index).map(|r| r.chain_id()).unwrap_or_default();
    let (expected, got) = (id(0), id(at));
    format!("chain_id mismatch at index {at}: expected \"{expected}\", got \"{got}\"")
}

fn after_end(receipts: &[&ParsedReceipt]) -> Option<usize> {
    let end = receipts.iter().position(|receipt| receipt.ends())?;
    if fault!("receipts.after-the-end") {
        return None;
    }
    (end + 1 < receipts.len()).then_some(end + 1)
}

fn after_end_text(at: usize) -> String {
    let end = at - 1;
    format!(
        "receipt after terminal: receipt at index {at} follows a terminal receipt at index {end}"
    )
}

/// Compares the responses that were supplied.
fn bodies(found: &mut ChainVerification, receipts: &[&ParsedReceipt], options: &ChainExpectations) {
    for (index, receipt) in receipts.iter().enumerate() {
        let Some(expected) = &receipt.body.subject.outcome.response_hash else { continue };
        let Some(body) = options.bodies.get(&receipt.body.id) else {
            found.response_hash_note = "response_hash present in one or more receipts; \
                response body not supplied — hash cannot be verified offline"
                .to_owned();
            continue;
        };
        let computed = canonical::parse(body).and_then(|value| canonical::hash(&value));
        let wrong = match computed {
            Ok(computed) if computed == *expected || fault!("receipts.bodies-unverified") => None,
            Ok(computed) => Some(format!(
                "response_hash mismatch at index {index}: \
                 receipt has {expected}, body hashes to {computed}"
            )),
            Err(error) => Some(format!("response_hash parse failed at index {index}: {error}")),
        };
        if let Some(wrong) = wrong.filter(|_| found.valid) {
            found.fail(index, wrong);
        }
    }
}

/// Checks facts that only a source outside the chain can know.
fn out_of_band(
    found: &mut ChainVerification,
    receipts: &[&ParsedReceipt],
    options: &ChainExpectations,
) {
    let last = receipts.len().saturating_sub(1);
    let length = options.expected_length.filter(|_| !fault!("receipts.length-unverified"));
    if let Some(expected) = length.filter(|n| *n != receipts.len()) {
        let got = receipts.len();
        let text = format!("expected chain length does not match: expected {expected}, got {got}");
        return found.fail(last, text);
    }
    let Some(receipt) = receipts.last() else {
        if options.require_terminal || options.expected_final_hash.is_some() {
            found
                .fail(last, "no receipt: the chain has neither an end nor a final hash".to_owned());
        }
        return;
    };
    let hash = options.expected_final_hash.as_ref();
    let hash = hash.filter(|_| !fault!("receipts.final-hash-unverified"));
    if let Some(expected) = hash.filter(|h| **h != receipt.hash) {
        let got = &receipt.hash;
        let text =
            format!("final receipt hash mismatch at index {last}: expected {expected}, got {got}");
        return found.fail(last, text);
    }
    if options.require_terminal && !receipt.ends() && !fault!("receipts.end-unverified") {
        let text = "require_terminal: last receipt does not have chain.terminal: true";
        found.fail(last, text.to_owned());
    }
}
