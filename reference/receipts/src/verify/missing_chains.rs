//! Chains and ends that are missing: a store's chains refer to each other.
//!
//! A chain below a root names the root, a root that has ended gives the number of chains that ended
//! below it, and the first receipt of a root names the root before it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::file::ReceiptLine;
use super::strict::StrictFinding;

/// The chains of a file by their names.
#[derive(Debug)]
pub(super) struct FileChains<'a> {
    chains: BTreeMap<&'a str, &'a [&'a ReceiptLine]>,
    /// Only one of the chains is verified, so that the others need not be present.
    in_part: bool,
}

impl<'a> FileChains<'a> {
    pub(super) fn new(chains: &'a [Vec<&'a ReceiptLine>], in_part: bool) -> Self {
        let named = |chain: &'a Vec<&'a ReceiptLine>| {
            Some((chain.first()?.receipt.chain_id(), chain.as_slice()))
        };
        Self { chains: chains.iter().filter_map(named).collect(), in_part }
    }

    /// The chain of this name.
    pub(super) fn chain(&self, name: &str) -> Option<&'a [&'a ReceiptLine]> {
        self.chains.get(name).copied()
    }
}

/// The root of a chain that lies below one.
pub(super) fn root_of(chain: &str) -> Option<&str> {
    let root = chain.split_once("/sandbox/").or_else(|| chain.split_once("/agent/"));
    root.map(|(root, _)| root)
}

/// Returns the chains and ends that are missing beside `chains`.
pub(super) fn findings(chains: &[Vec<&ReceiptLine>], store: &FileChains<'_>) -> Vec<StrictFinding> {
    let mut found = Vec::new();
    for chain in chains {
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else { continue };
        found.extend(end(first, last, store));
        if !store.in_part {
            found.extend(root(first, store));
            found.extend(below(last, store));
            found.extend(chain.iter().filter_map(|line| before(line, store)));
        }
    }
    found
}

fn root(first: &ReceiptLine, store: &FileChains<'_>) -> Option<StrictFinding> {
    let root = root_of(first.receipt.chain_id())?;
    let detail = format!("{root:?}, which it lies below, is not in the file; --chain asks of one");
    store.chain(root).is_none().then(|| StrictFinding::new(first, "chain_missing", detail))
}

/// A root is the last to end.
fn end(first: &ReceiptLine, last: &ReceiptLine, store: &FileChains<'_>) -> Option<StrictFinding> {
    let root = root_of(first.receipt.chain_id())?;
    let ended = store.chain(root)?.last()?.receipt.ends();
    let detail = format!("{root:?} ended after all chains below it, this one has no end");
    (ended && !last.receipt.ends()).then(|| StrictFinding::new(last, "end_missing", detail))
}

/// Checks that as many chains ended below a root as it says.
fn below(last: &ReceiptLine, store: &FileChains<'_>) -> Option<StrictFinding> {
    let said = runtime(last, "chains_ended")?.as_u64()?;
    let name = last.receipt.chain_id();
    let is_below = |chain: &&&str| root_of(chain) == Some(name);
    let found = store.chains.keys().filter(is_below).count();
    let detail = format!("{said} chains ended below {name:?}, the file has {found}");
    (usize::try_from(said) != Ok(found)).then(|| StrictFinding::new(last, "chain_missing", detail))
}

/// Checks that the previous root chain is in the file, to its end.
fn before(line: &ReceiptLine, store: &FileChains<'_>) -> Option<StrictFinding> {
    let said = runtime(line, "previous_chain")?;
    let name = said.get("chain_id")?.as_str()?;
    let tell = |detail: String| Some(StrictFinding::new(line, "chain_missing", detail));
    let Some(last) = store.chain(name).and_then(<[_]>::last) else {
        return tell(format!("{name:?}, which came before, is not in the file"));
    };
    let hash = said.get("receipt_hash")?.as_str()?;
    match last.receipt.hash == hash {
        true => None,
        false => tell(format!("{name:?}, which came before, does not end with {hash}")),
    }
}

fn runtime<'a>(line: &'a ReceiptLine, member: &str) -> Option<&'a Value> {
    line.receipt.body.issuer.runtime.as_ref()?.get(member)
}
