//! The reporting of actions: an action becomes an event in the queue, and the agent waits for no
//! more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::action_ending::ActionEnding;
use super::debt_journal::DebtJournal;
use super::drop_counter::DropCounter;
use super::routes::EndpointFamily;
use crate::frame::CallDecision;

/// The longest `target_resource`.
pub(super) const RESOURCE: usize = 4096;

/// The report of one object of an action.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ActionRecord {
    pub action: String,
    pub family: Option<EndpointFamily>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub error: Option<String>,
    pub decision: CallDecision,
    pub correlation: Option<String>,
    /// System and resource.
    pub target: Option<(String, String)>,
}

/// An entry of the queue: an occurrence and its time.
pub(super) struct QueuedEvent {
    pub at: Timestamp,
    pub what: QueuedEventKind,
    /// It is owed until its frames have numbers.
    owed: PendingDebt,
}

/// The occurrence.
pub(super) enum QueuedEventKind {
    Told(Box<ActionRecord>),
    Ended(ActionEnding),
}

impl QueuedEvent {
    /// Returns its reports, and the events that are owed until the reports have numbers.
    pub(super) fn into_records(self) -> (Vec<ActionRecord>, PendingDebt) {
        let told = match self.what {
            QueuedEventKind::Told(told) => vec![*told],
            QueuedEventKind::Ended(ending) => ending.action_records(),
        };
        (told, self.owed)
    }

    /// Drops the event, with numbers that no receipt will have; returns how many.
    pub(super) fn lost(self, account: &DebtJournal) -> i64 {
        let count = match &self.what {
            QueuedEventKind::Told(_) => 1,
            QueuedEventKind::Ended(ending) => ending.items.len().max(1),
        };
        account.skip(count as u64);
        i64::try_from(count).unwrap_or(i64::MAX)
    }
}

/// The reporter.
pub(super) struct EventSink {
    account: Arc<DebtJournal>,
    queue: Sender<QueuedEvent>,
    drops: Arc<DropCounter>,
    /// The number of actions that have begun and are not reported.
    open: AtomicUsize,
    idle: Notify,
    stopping: AtomicBool,
}

impl EventSink {
    /// A teller into `queue`.
    pub(super) fn new(
        queue: Sender<QueuedEvent>,
        drops: Arc<DropCounter>,
        account: Arc<DebtJournal>,
    ) -> Self {
        let (open, idle, stopping) = Default::default();
        Self { account, queue, drops, open, idle, stopping }
    }

    /// Queues a report at once.
    pub(super) fn tell(&self, told: ActionRecord) {
        self.queue(QueuedEventKind::Told(Box::new(told)), PendingDebt::new(&self.account));
    }

    /// An action has ended.
    pub(super) fn ended(&self, ending: ActionEnding, owed: PendingDebt) {
        self.queue(QueuedEventKind::Ended(ending), owed);
    }

    /// Queues an event; where there is no room it is a drop.
    fn queue(&self, what: QueuedEventKind, owed: PendingDebt) {
        let event = QueuedEvent { at: Timestamp::now(), what, owed };
        if let Err(TrySendError::Full(event) | TrySendError::Closed(event)) =
            self.queue.try_send(event)
        {
            self.drops.add(event.lost(&self.account));
            eprintln!("proxy: a frame is lost ({} now): the queue is full", self.drops.count());
        }
    }

    /// Reports that the proxy itself refused a request.
    pub(super) fn refused(&self, told: ActionRecord, why: &str) {
        let error = Some(format!("refused by the proxy: {why}"));
        self.tell(ActionRecord { decision: CallDecision::Denied, error, ..told });
    }

    /// Marks that an action has begun that is to be reported.
    pub(super) fn begin(self: &Arc<Self>) -> (OpenAction, PendingDebt) {
        self.open.fetch_add(1, Ordering::SeqCst);
        (OpenAction(Arc::clone(self)), PendingDebt::new(&self.account))
    }

    /// Returns when no action is open.
    pub(super) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            notified.await;
        }
    }

    /// Marks that an action that ends early from now on was interrupted by the proxy.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Returns whether the proxy is stopping.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// An owed event; dropped when it has a number, or when there is nothing to report.
pub(super) struct PendingDebt(Arc<DebtJournal>);

impl PendingDebt {
    fn new(account: &Arc<DebtJournal>) -> Self {
        account.begin();
        Self(Arc::clone(account))
    }
}

impl Drop for PendingDebt {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// An action that has begun; dropped when it has ended.
pub(super) struct OpenAction(Arc<EventSink>);

impl Drop for OpenAction {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_is_a_drop() {
        let (queue, mut frames) = tokio::sync::mpsc::channel(1);
        let drops = Arc::new(DropCounter::default());
        let account = Arc::new(DebtJournal::new("s1"));
        let teller = EventSink::new(queue, Arc::clone(&drops), Arc::clone(&account));
        for _ in 0..3 {
            teller.tell(ActionRecord::default());
        }
        assert_eq!(drops.count(), 2);
        // The lost events take two numbers, which no receipt has.
        assert_eq!(account.number(), 3);
        assert!(frames.try_recv().is_ok() && frames.try_recv().is_err());
    }
}
