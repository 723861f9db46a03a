//! Anchors: a chain below a root starts from a receipt of that root.

use serde_json::Value;

use super::file::ReceiptLine;
use super::missing_chains::{self, FileChains};
use super::strict::StrictFinding;
use crate::parsed_receipt::ParsedDelegation;

/// The findings of all chains that lie below another one.
pub(super) fn findings(chains: &[Vec<&ReceiptLine>], store: &FileChains<'_>) -> Vec<StrictFinding> {
    let mut found = Vec::new();
    for chain in chains {
        let Some((first, rest)) = chain.split_first() else { continue };
        let id = first.receipt.chain_id();
        if let Some(root) = missing_chains::root_of(id) {
            found.extend(first_of(first, root, store.chain(root)));
        }
        let again = rest.iter().filter(|line| line.receipt.body.subject.delegation.is_some());
        found.extend(again.map(|line| {
            StrictFinding::new(line, "anchor_repeated", "only the first receipt has one".to_owned())
        }));
    }
    found
}

/// Returns the finding about the first receipt of a chain below `root`.
fn first_of(
    first: &ReceiptLine,
    root: &str,
    parent: Option<&[&ReceiptLine]>,
) -> Option<StrictFinding> {
    let tell = |name, detail: String| Some(StrictFinding::new(first, name, detail));
    let Some(anchor) = &first.receipt.body.subject.delegation else {
        return tell("anchor_missing", "the first receipt has no delegation".to_owned());
    };
    if anchor.parent_chain_id != root {
        return tell("anchor_chain", format!("{:?} is not {root:?}", anchor.parent_chain_id));
    }
    // That it is missing is a finding of its own.
    let parent = parent?;
    let id = &anchor.parent_receipt_id;
    let Some(at) = parent.iter().find(|line| line.receipt.body.id == *id) else {
        return tell("anchor_unknown", format!("{root:?} has no receipt {id}"));
    };
    if at.number > first.number || at.receipt.body.issued > first.receipt.body.issued {
        return tell("anchor_later", format!("{id} is later than the chain"));
    }
    compared(first, anchor, at)
}

fn compared(
    first: &ReceiptLine,
    anchor: &ParsedDelegation,
    at: &ReceiptLine,
) -> Option<StrictFinding> {
    let issuer = &at.receipt.body.issuer.id;
    if anchor.delegator.id != *issuer {
        let detail = format!("{:?} did not issue the anchor", anchor.delegator.id);
        return Some(StrictFinding::new(first, "anchor_issuer", detail));
    }
    let said = first.receipt.body.subject.parent.as_ref()?;
    let chain = &at.receipt.body.subject.chain;
    let truth: [(&str, Value); 4] = [
        ("chain_id", chain.chain_id.clone().into()),
        ("receipt_id", at.receipt.body.id.clone().into()),
        ("sequence", chain.sequence.into()),
        ("receipt_hash", at.receipt.hash.clone().into()),
    ];
    let wrong = truth.into_iter().find(|(name, value)| said.get(name) != Some(value))?;
    let detail = format!("parentChainRef.{} is not {}", wrong.0, wrong.1);
    Some(StrictFinding::new(first, "anchor_reference", detail))
}
