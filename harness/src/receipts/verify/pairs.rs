//! Pairs of receipts: dropped events and the event after them, sessions' openings and closings,
//! chains and their anchors, sandboxes and their bindings.

use std::collections::BTreeMap;

use super::super::canonical;
use super::{PlacedReceipt, ReceiptFlaw};

/// The type of a count of dropped events.
const DROPPED: &str = "agent_receipts.events_dropped";

/// The word between the name of the daemon's chain and that of a sandbox.
pub(super) const SANDBOX: &str = "/sandbox/";

/// A count of dropped events stands right before the event that brought it.
pub(super) fn drops(chain: &[&PlacedReceipt]) -> Vec<ReceiptFlaw> {
    let mut flaws = Vec::new();
    for (at, receipt) in chain.iter().enumerate() {
        match (receipt.kind() == DROPPED, receipt.drops()) {
            (true, Some(1..)) => {
                if chain.get(at + 1).is_none_or(|next| next.is_of_channel()) {
                    let why = "no event follows that brought the count";
                    flaws.push(ReceiptFlaw::new("lone_drop", receipt.line, why));
                }
            }
            (true, count) => {
                let why = format!("{count:?} events are said to be lost");
                flaws.push(ReceiptFlaw::new("drop_without_count", receipt.line, why));
            }
            (false, Some(_)) => {
                let why = "a count that has no receipt of its own";
                flaws.push(ReceiptFlaw::new("lone_drop", receipt.line, why));
            }
            (false, None) => {}
        }
    }
    flaws
}

/// Checks that every session opens once and closes once, in this order.
pub(super) fn sessions(chain: &[&PlacedReceipt]) -> Vec<ReceiptFlaw> {
    let mut seen: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut flaws = Vec::new();
    for receipt in chain {
        let opens = receipt.kind() == "system.pty.open";
        if !opens && receipt.kind() != "system.pty.close" {
            continue;
        }
        let (open, close, line) =
            seen.entry(receipt.correlation().unwrap_or_default()).or_default();
        *line = receipt.line;
        let word = match (opens, *open, *close) {
            (true, 0, 1..) => Some("close_before_open"),
            (true, 1.., _) => Some("duplicate_open"),
            (false, _, 1..) => Some("duplicate_close"),
            _ => None,
        };
        flaws.extend(word.map(|word| ReceiptFlaw::new(word, receipt.line, "of one session")));
        *if opens { open } else { close } += 1;
    }
    for (open, close, line) in seen.into_values() {
        match (open, close) {
            (1.., 0) => flaws.push(ReceiptFlaw::new("incomplete_session", line, "it never closes")),
            (0, 1..) => flaws.push(ReceiptFlaw::new("orphan_close", line, "it never opened")),
            _ => {}
        }
    }
    flaws
}

/// The first receipt of a sandbox's chain names the last one of the daemon's at that time.
pub(super) fn anchors(
    receipts: &[PlacedReceipt],
    chains: &BTreeMap<&str, Vec<&PlacedReceipt>>,
) -> Vec<ReceiptFlaw> {
    let mut flaws = Vec::new();
    for (id, chain) in chains {
        let Some((root, _)) = id.split_once(SANDBOX) else { continue };
        for (at, receipt) in chain.iter().enumerate() {
            let anchored = receipt.value.pointer("/credentialSubject/delegation").is_some();
            match (at, anchored) {
                (0, true) => flaws.extend(anchor(receipts, root, receipt)),
                (0, false) => {
                    flaws.push(ReceiptFlaw::new(
                        "no_anchor",
                        receipt.line,
                        "the chain hangs on nothing",
                    ));
                }
                (_, true) => {
                    flaws.push(ReceiptFlaw::new(
                        "second_anchor",
                        receipt.line,
                        "the chain has one",
                    ));
                }
                (_, false) => {}
            }
        }
    }
    flaws
}

fn anchor(receipts: &[PlacedReceipt], root: &str, receipt: &PlacedReceipt) -> Option<ReceiptFlaw> {
    let flaw = |why: &str| Some(ReceiptFlaw::new("bad_anchor", receipt.line, why));
    let place = "/credentialSubject/delegation";
    let parent = receipt.text(&format!("{place}/parent_receipt_id"));
    let chain = receipt.text(&format!("{place}/parent_chain_id")).unwrap_or_default();
    if chain != root && !chain.starts_with(&format!("{root}-")) {
        return flaw("its parent is no chain of the daemon's");
    }
    let earlier =
        receipts.iter().filter(|other| other.line < receipt.line && other.chain() == chain);
    let tip = earlier.max_by_key(|other| other.line);
    match tip {
        None => return flaw("its parent is empty"),
        Some(tip) if tip.text("/id") != parent => return flaw("it is not the last receipt"),
        Some(tip) => {
            let written = receipt.text("/credentialSubject/parentChainRef/receipt_hash");
            let due = canonical::receipt_hash(&tip.value).ok();
            if written.is_some() && written != due.as_deref() {
                return flaw("the hash of its parent is another one");
            }
        }
    }
    None
}

/// Checks that the receipts of a sandbox are in that sandbox's chain, and name the sandbox.
pub(super) fn bindings(receipts: &[PlacedReceipt]) -> Vec<ReceiptFlaw> {
    let of = |receipt: &PlacedReceipt| {
        let (_, sandbox) = receipt.chain().split_once(SANDBOX)?;
        let sandbox = chain_name(sandbox);
        match receipt.binding("sandbox_id") {
            None if receipt.is_of_channel() => None,
            None => Some(ReceiptFlaw::new("unbound", receipt.line, "it names no sandbox")),
            Some(bound) if bound == sandbox || sandbox.starts_with(&format!("{bound}-")) => None,
            Some(bound) => {
                let why = format!("bound to {bound} in the chain of {sandbox}");
                Some(ReceiptFlaw::new("wrong_binding", receipt.line, why))
            }
        }
    };
    receipts.iter().filter_map(of).collect()
}

/// Returns the sandbox that a chain is about: the part before the next slash.
fn chain_name(rest: &str) -> &str {
    rest.split('/').next().unwrap_or_default()
}
