//! The one writer: gives each event its place, signs, and stores a batch with one sync.

use std::sync::Arc;

use super::{DaemonArgs, log};
use crate::accept::{AcceptedEvent, ChainSelector};
use crate::chain::ChainTips;
use crate::keys;
use crate::peer::PeerProcess;
use crate::receipt::{ReceiptContent, ReceiptSigner};
use crate::store::{ReceiptStore, StoredChains};
use crate::time::ReceiptClock;

/// An event and its sender.
#[derive(Debug)]
pub(super) struct ArrivedEvent {
    pub(super) event: AcceptedEvent,
    pub(super) peer: Arc<PeerProcess>,
}

/// The chains and everything that makes them grow.
#[derive(Debug)]
pub(super) struct ReceiptWriter {
    scribe: ReceiptSigner,
    chains: ChainTips,
    root: String,
    clock: ReceiptClock,
    store: ReceiptStore,
    /// Signed, not stored yet.
    lines: Vec<u8>,
}

impl ReceiptWriter {
    /// Opens key and store and reads the tips of the chains; writes nothing.
    pub(super) fn open(args: &DaemonArgs) -> Result<Self, String> {
        let scribe = ReceiptSigner::new(keys::load(&args.key)?, args.profile);
        let (store, held) = ReceiptStore::open(&args.store)?;
        if held.torn > 0 {
            log(&format!("{}: a torn line of {} bytes was cut", args.store.display(), held.torn));
        }
        let StoredChains { chains, last, .. } = held;
        let mut clock = ReceiptClock::default();
        if let Some(last) = last {
            let ours = last.signature().is_ok_and(|signature| {
                scribe.key().verify_strict(&last.signed, &signature).is_ok()
            });
            if !ours && !fault!("receipts.foreign-store") {
                let store = args.store.display();
                return Err(format!("{store}: its last receipt is not signed by --key"));
            }
            clock.not_before(last.body.issued.as_deref().unwrap_or_default());
        }
        let root = chains.root(&args.chain);
        Ok(Self { scribe, chains, root, clock, store, lines: Vec::new() })
    }

    /// Ends chains that an earlier daemon left half ended, and signs that this one has started.
    pub(super) fn begin(&mut self, base: &str) -> Result<(), String> {
        if self.chains.half_ended(&self.root) {
            self.end()?;
            self.root = self.chains.root(base);
        }
        let at = self.clock.now();
        let before = self.chains.previous_root(base);
        let before = before.as_ref().map(|(chain, hash)| (chain.as_str(), hash.as_str()));
        if !fault!("receipts.start-unsigned") {
            self.write(ReceiptContent::Started(before), &self.root.clone(), &at)?;
        }
        self.store()
    }

    /// Signs and stores events, in order. An error leaves none of them stored.
    pub(super) fn record(&mut self, batch: &[ArrivedEvent]) -> Result<(), String> {
        let at = self.clock.now();
        for ArrivedEvent { event, peer } in batch {
            let chain = match &event.place {
                ChainSelector::Root => self.root.clone(),
                ChainSelector::Below(path) => format!("{}/{path}", self.root),
            };
            let count = event.frame.drop_count.filter(|count| *count > 0);
            let count = count.map(|count| if fault!("receipts.losses-as-one") { 1 } else { count });
            let count = count.filter(|_| !fault!("receipts.losses-unsigned"));
            if fault!("receipts.losses-behind") {
                self.write(ReceiptContent::Live(event, peer), &chain, &at)?;
            }
            if let Some(count) = count {
                self.write(ReceiptContent::Dropped(event, peer, count), &chain, &at)?;
            }
            if !fault!("receipts.losses-behind") {
                self.write(ReceiptContent::Live(event, peer), &chain, &at)?;
            }
        }
        self.store()
    }

    /// Ends every open chain, the root last, so that an ended root means that all are ended.
    pub(super) fn end(&mut self) -> Result<(), String> {
        let at = self.clock.now();
        for chain in self.chains.open(&self.root) {
            let below = (chain == self.root).then(|| self.chains.below(&chain));
            self.write(ReceiptContent::Interrupted(below), &chain, &at)?;
        }
        self.store()
    }

    fn write(&mut self, content: ReceiptContent, chain: &str, at: &str) -> Result<(), String> {
        let link = self.chains.next(chain, &self.root);
        let sealed = self.scribe.write(content, &link, at)?;
        self.lines.extend_from_slice(&sealed.text);
        self.lines.push(b'\n');
        self.chains.advance(link, &sealed, matches!(content, ReceiptContent::Interrupted(_)));
        Ok(())
    }

    fn store(&mut self) -> Result<(), String> {
        self.store.append(&self.lines)?;
        self.lines.clear();
        Ok(())
    }
}
