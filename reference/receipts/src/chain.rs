//! The tip of each chain, and the next link in it.

use rustc_hash::FxHashMap;

use super::parsed_receipt::ParsedReceipt;
use super::receipt::{ChainAnchor, ChainLink, SignedReceipt};

/// The last receipt of a chain.
#[derive(Debug, Clone)]
pub(crate) struct ChainTip {
    pub(crate) id: String,
    pub(crate) hash: String,
    pub(crate) sequence: u64,
    pub(crate) ended: bool,
}

/// The chains of a store.
#[derive(Debug, Default)]
pub(crate) struct ChainTips(FxHashMap<String, ChainTip>);

impl ChainTips {
    /// The last receipt of a chain.
    pub(crate) fn tip(&self, chain: &str) -> Option<&ChainTip> {
        self.0.get(chain)
    }

    /// Takes in a stored receipt, if it is the next one of its chain.
    pub(crate) fn resume(&mut self, read: &ParsedReceipt) -> Result<(), String> {
        let chain = &read.body.subject.chain;
        let last = self.0.get(&chain.chain_id);
        if let Some(tip) = last.filter(|tip| tip.ended) {
            return Err(format!("chain {:?} ended at {}", chain.chain_id, tip.sequence));
        }
        let expected = last.map_or(1, |tip| tip.sequence + 1);
        let sequence = u64::try_from(chain.sequence).unwrap_or_default();
        if sequence != expected {
            let id = &chain.chain_id;
            return Err(format!("chain {id:?} has sequence {}, not {expected}", chain.sequence));
        }
        if chain.previous_receipt_hash.as_ref() != last.map(|tip| &tip.hash) {
            return Err(format!("chain {:?} does not link to its predecessor", chain.chain_id));
        }
        let (id, hash) = (read.body.id.clone(), read.hash.clone());
        self.0.insert(chain.chain_id.clone(), ChainTip { id, hash, sequence, ended: read.ends() });
        Ok(())
    }

    /// The next place of `chain`; below `root` the first one is anchored at the root's tip.
    pub(crate) fn next(&self, chain: &str, root: &str) -> ChainLink {
        let last = self.0.get(chain);
        let first_below = last.is_none() && chain != root;
        ChainLink {
            chain_id: chain.to_owned(),
            sequence: match fault!("receipts.sequence-anew") && chain != root {
                true => 1,
                false => last.map_or(1, |tip| tip.sequence + 1),
            },
            previous: match fault!("receipts.previous-of-root") {
                true => self.0.get(root).map(|tip| tip.hash.clone()),
                false => last.map(|tip| tip.hash.clone()),
            },
            anchor: (first_below && !fault!("receipts.no-anchor"))
                .then(|| self.anchor(root))
                .flatten(),
        }
    }

    fn anchor(&self, root: &str) -> Option<ChainAnchor> {
        let tip = self.0.get(root)?;
        Some(ChainAnchor {
            chain_id: root.to_owned(),
            receipt_id: tip.id.clone(),
            sequence: tip.sequence,
            receipt_hash: tip.hash.clone(),
        })
    }

    /// Notes that `sealed` was written at `link`.
    pub(crate) fn advance(&mut self, link: ChainLink, sealed: &SignedReceipt, ended: bool) {
        let (id, hash) = (sealed.id.clone(), sealed.hash.clone());
        self.0.insert(link.chain_id, ChainTip { id, hash, sequence: link.sequence, ended });
    }

    /// The root chain to write to, of those that `base` names: the last one.
    pub(crate) fn root(&self, base: &str) -> String {
        roots(base).find(|id| !self.tip(id).is_some_and(|t| t.ended)).unwrap_or_default()
    }

    /// The root chain before that one, and the hash of its last receipt.
    pub(crate) fn previous_root(&self, base: &str) -> Option<(String, String)> {
        let ended = |id: String| {
            let tip = self.tip(&id).filter(|tip| tip.ended)?;
            Some((id, tip.hash.clone()))
        };
        roots(base).map_while(ended).last()
    }

    /// Returns the number of chains below `root`.
    pub(crate) fn below(&self, root: &str) -> usize {
        let below = format!("{root}/");
        self.0.keys().filter(|id| id.starts_with(&below)).count()
    }

    /// The chains of `root` that are open, those below it first.
    pub(crate) fn open(&self, root: &str) -> Vec<String> {
        if fault!("receipts.chains-open") {
            return Vec::new();
        }
        let below = format!("{root}/");
        let ours = self
            .0
            .iter()
            .filter(|(id, tip)| !tip.ended && (id.as_str() == root || id.starts_with(&below)));
        let mut open: Vec<String> = ours.map(|(id, _)| id.clone()).collect();
        open.sort_by_key(|id| (id == root, id.clone()));
        open
    }

    /// Returns whether the daemon died while it ended the chains of `root`: some ended, the root
    /// not.
    pub(crate) fn half_ended(&self, root: &str) -> bool {
        let below = format!("{root}/");
        self.0.iter().any(|(id, tip)| tip.ended && id.starts_with(&below))
    }
}

/// The names of root chains that `base` names, one after the other.
fn roots(base: &str) -> impl Iterator<Item = String> {
    (1_u64..).map(move |n| if n == 1 { base.to_owned() } else { format!("{base}-{n}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(chains: &mut ChainTips, chain: &str, ended: bool) {
        let link = chains.next(chain, "root");
        let id = format!("{chain}#{}", link.sequence);
        let hash = format!("hash of {id}");
        chains.advance(link, &SignedReceipt { id, hash, text: Vec::new() }, ended);
    }

    #[test]
    fn the_first_below_the_root_is_anchored_and_no_other() {
        let mut chains = ChainTips::default();
        assert!(chains.next("root", "root").anchor.is_none());
        at(&mut chains, "root", false);
        at(&mut chains, "root", false);
        let first = chains.next("root/sandbox/a", "root");
        let anchor = first.anchor.unwrap();
        assert_eq!((anchor.receipt_id.as_str(), anchor.sequence), ("root#2", 2));
        at(&mut chains, "root/sandbox/a", false);
        let second = chains.next("root/sandbox/a", "root");
        assert_eq!((second.sequence, second.anchor.is_none()), (2, true));
        assert_eq!(second.previous.unwrap(), "hash of root/sandbox/a#1");
    }

    #[test]
    fn an_ended_root_is_followed_by_a_new_one() {
        let mut chains = ChainTips::default();
        assert_eq!(chains.root("root"), "root");
        at(&mut chains, "root", false);
        assert_eq!(chains.root("root"), "root");
        at(&mut chains, "root", true);
        assert_eq!(chains.root("root"), "root-2");
        at(&mut chains, "root-2/sandbox/a", true);
        at(&mut chains, "root-2", true);
        assert_eq!(chains.root("root"), "root-3");
        let before = chains.previous_root("root").unwrap();
        assert_eq!((before.0.as_str(), before.1.as_str()), ("root-2", "hash of root-2#1"));
        assert_eq!((chains.below("root"), chains.below("root-2")), (0, 1));
    }

    #[test]
    fn the_root_is_the_last_to_end() {
        let mut chains = ChainTips::default();
        for chain in ["root", "root/sandbox/b", "root/sandbox/a", "root-2/sandbox/a", "other"] {
            at(&mut chains, chain, false);
        }
        assert_eq!(chains.open("root"), ["root/sandbox/a", "root/sandbox/b", "root"]);
        assert!(!chains.half_ended("root"));
        at(&mut chains, "root/sandbox/a", true);
        assert_eq!(chains.open("root"), ["root/sandbox/b", "root"]);
        assert!(chains.half_ended("root"));
    }
}
