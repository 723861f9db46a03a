//! The findings that other verifiers accept and a strict reader does not: one name a rule.

use std::collections::BTreeMap;

use serde::Serialize;

use super::file::ReceiptLine;
use super::missing_chains::FileChains;
use super::{anchors, missing_chains, numbers, pty, schema};
use crate::parsed_receipt::ParsedReceipt;
use crate::{did, ijson, time};

/// A fault that a strict reader does not accept.
#[derive(Debug, Clone, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct StrictFinding {
    /// The line of the receipt.
    pub line: usize,
    /// The rule.
    pub name: &'static str,
    /// The finding's text.
    pub detail: String,
}

impl StrictFinding {
    pub(super) fn new(line: &ReceiptLine, name: &'static str, detail: String) -> Self {
        Self { line: line.number, name, detail }
    }
}

type ReceiptCheck = fn(&ParsedReceipt) -> Option<String>;
type PairCheck = fn(&ParsedReceipt, &ParsedReceipt) -> Option<String>;

/// Rules that a receipt keeps or breaks by itself.
const ALONE: [(&str, ReceiptCheck); 6] = [
    ("duplicate_member", |receipt| receipt.ambiguous.clone()),
    ("inexact_number", |receipt| receipt.inexact.as_deref().map(ijson::complaint)),
    ("proof_purpose", proof_purpose),
    ("verification_method", verification_method),
    ("proof_created", proof_created),
    ("context_version", context_version),
];

/// Rules between a receipt and the one before it in its chain.
const BESIDE: [(&str, PairCheck); 3] =
    [("issuer_change", issuer), ("time_reversal", reversal), ("method_change", method)];

/// All findings of `chains`, which are all of a file's or one of them, by line.
pub(super) fn findings(
    chains: &[Vec<&ReceiptLine>],
    lines: &[ReceiptLine],
    store: &FileChains<'_>,
) -> Vec<StrictFinding> {
    let mut found: Vec<StrictFinding> = chains.iter().flat_map(|chain| of_chain(chain)).collect();
    if !fault!("receipts.repeated-ids") {
        found.extend(repeated_ids(lines));
    }
    if !fault!("receipts.anchors-unverified") {
        found.extend(anchors::findings(chains, store));
    }
    if !fault!("receipts.missing-chains") {
        found.extend(missing_chains::findings(chains, store));
    }
    if !fault!("receipts.numbers-unverified") {
        found.extend(numbers::findings(chains));
    }
    found.retain(|finding| !dropped!("strict-rules", finding.name));
    found.sort();
    found
}

fn of_chain(chain: &[&ReceiptLine]) -> Vec<StrictFinding> {
    let mut found = Vec::new();
    for line in chain {
        let alone = ALONE.iter().filter_map(|(name, rule)| Some((*name, rule(&line.receipt)?)));
        found.extend(alone.map(|(name, detail)| StrictFinding::new(line, name, detail)));
        let schema = schema::complaints(&line.receipt.value);
        found.extend(schema.into_iter().map(|detail| StrictFinding::new(line, "schema", detail)));
    }
    for pair in chain.windows(2) {
        let [before, line] = pair else { continue };
        let beside = BESIDE
            .iter()
            .filter_map(|(name, rule)| Some((*name, rule(&before.receipt, &line.receipt)?)));
        found.extend(beside.map(|(name, detail)| StrictFinding::new(line, name, detail)));
    }
    found.extend(genesis(chain));
    found.extend(sessions(chain));
    found
}

fn genesis(chain: &[&ReceiptLine]) -> Option<StrictFinding> {
    let first = chain.first()?;
    let sequence = first.receipt.body.subject.chain.sequence;
    let detail = || format!("the chain begins with sequence {sequence}");
    (sequence != 1).then(|| StrictFinding::new(first, "genesis_sequence", detail()))
}

/// Checks that sessions of one placement do not mix in a sandbox's chain; receipts of the daemon's
/// own have none. Other chains take the events of every emitter.
fn sessions(chain: &[&ReceiptLine]) -> Vec<StrictFinding> {
    if !chain.first().is_some_and(|first| first.receipt.chain_id().contains("/sandbox/")) {
        return Vec::new();
    }
    let mut first: BTreeMap<Option<&str>, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for line in chain {
        let Some(id) = line.receipt.body.issuer.session_id.as_deref() else { continue };
        let before = *first.entry(pty::binding(&line.receipt, "placement")).or_insert(id);
        if before != id && found.is_empty() {
            found.push(StrictFinding::new(line, "session_mix", format!("{id:?} after {before:?}")));
        }
    }
    found
}

fn repeated_ids(lines: &[ReceiptLine]) -> Vec<StrictFinding> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in lines {
        let id = line.receipt.body.id.as_str();
        let before = *first.entry(id).or_insert(line.number);
        if before != line.number {
            let detail = format!("{id} is on line {before} as well");
            found.push(StrictFinding::new(line, "duplicate_receipt_id", detail));
        }
    }
    found
}

fn proof_purpose(receipt: &ParsedReceipt) -> Option<String> {
    let purpose = receipt.body.proof.as_ref()?.purpose.as_deref();
    (purpose != Some("assertionMethod")).then(|| format!("{purpose:?}"))
}

fn verification_method(receipt: &ParsedReceipt) -> Option<String> {
    let method = receipt.body.proof.as_ref()?.method.as_deref().unwrap_or_default();
    if method.starts_with("did:key:")
        && let Err(error) = did::resolve(method)
    {
        return Some(error);
    }
    let issuer = &receipt.body.issuer.id;
    let good = method
        .strip_prefix(issuer.as_str())
        .is_some_and(|rest| rest.starts_with('#') && rest.len() > 1);
    (!good).then(|| format!("{method:?} is no key of issuer {issuer:?}"))
}

/// Compares the time of the proof, which is not signed, with that of the receipt: both come from
/// one clock.
fn proof_created(receipt: &ParsedReceipt) -> Option<String> {
    let created = receipt.body.proof.as_ref()?.created.as_deref().unwrap_or_default();
    let issued = receipt.body.issued.as_deref().unwrap_or_default();
    (created != issued).then(|| format!("{created:?} where issuanceDate is {issued:?}"))
}

fn context_version(receipt: &ParsedReceipt) -> Option<String> {
    let version = receipt.body.version.as_deref().unwrap_or_default();
    let context = receipt.value.pointer("/@context/1").and_then(|value| value.as_str());
    let expected = match version {
        "0.5.0" => "https://agentreceipts.ai/context/v2",
        "0.6.0" => "https://agentreceipts.ai/context/v3",
        _ => "https://agentreceipts.ai/context/v1",
    };
    let wrong = context != Some(expected);
    wrong.then(|| format!("version {version:?} with context {:?}", context.unwrap_or_default()))
}

fn issuer(before: &ParsedReceipt, receipt: &ParsedReceipt) -> Option<String> {
    let (was, is) = (&before.body.issuer.id, &receipt.body.issuer.id);
    (was != is).then(|| format!("{is:?} after {was:?}"))
}

/// A method may change only where a key does.
fn method(before: &ParsedReceipt, receipt: &ParsedReceipt) -> Option<String> {
    let of = |receipt: &ParsedReceipt| receipt.body.proof.as_ref().and_then(|p| p.method.clone());
    let (was, is) = (of(before), of(receipt));
    let rotated = before.body.subject.rotation.is_some();
    (was != is && !rotated).then(|| format!("{is:?} after {was:?}"))
}

fn reversal(before: &ParsedReceipt, receipt: &ParsedReceipt) -> Option<String> {
    let of = |receipt: &ParsedReceipt| receipt.body.issued.as_deref().and_then(time::parse);
    let (was, is) = (of(before)?, of(receipt)?);
    (is < was).then(|| format!("{is} after {was}"))
}
