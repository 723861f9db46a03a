//! Telling: an action becomes a frame in the queue, and nobody waits for more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;

use super::account::Account;
use super::drops::Drops;
use super::routes::Family;
use crate::receipts::frame::{Binding, Decision, Frame, Tool};

/// The longest `target_system` and `target_resource`.
const SYSTEM: usize = 256;
pub(super) const RESOURCE: usize = 4096;

/// One object of an action, as told.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Told {
    pub action: String,
    pub family: Option<Family>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    pub error: Option<String>,
    pub decision: Decision,
    pub correlation: Option<String>,
    /// System and resource.
    pub target: Option<(String, String)>,
}

/// Whoever tells.
pub(super) struct Teller {
    account: Arc<Account>,
    sandbox: String,
    /// The sandbox was named by the caller, so that the relay must compare.
    claims: bool,
    queue: Sender<Frame>,
    drops: Arc<Drops>,
    /// How many actions have begun and are not told of.
    open: AtomicUsize,
    idle: Notify,
    stopping: AtomicBool,
}

impl Teller {
    /// A teller for one sandbox.
    pub(super) fn new(
        sandbox: String,
        claims: bool,
        queue: Sender<Frame>,
        drops: Arc<Drops>,
        account: Arc<Account>,
    ) -> Self {
        let (open, idle, stopping) = Default::default();
        Self { account, sandbox, claims, queue, drops, open, idle, stopping }
    }

    /// Queues a frame; where there is no room it is a drop.
    pub(super) fn tell(&self, told: Told) {
        if self.queue.try_send(self.frame(told)).is_err() {
            self.drops.add(1);
            eprintln!("proxy: a frame is lost ({} now): the queue is full", self.drops.count());
        }
    }

    /// Tells that the proxy itself refused a request.
    pub(super) fn refused(&self, told: Told, why: &str) {
        let error = Some(format!("refused by the proxy: {why}"));
        self.tell(Told { decision: Decision::Denied, error, ..told });
    }

    fn frame(&self, told: Told) -> Frame {
        let name = told.family.map_or("unknown", Family::name);
        let (system, resource) = told.target.and_then(bounded).unzip();
        Frame {
            v: "1".to_owned(),
            ts_emit: jiff::Timestamp::now().to_string(),
            session_id: self.account.session().to_owned(),
            event_number: Some(self.account.number()),
            channel: "opensandbox_execd".to_owned(),
            tool: Tool { name: name.to_owned(), server: Some("execd".to_owned()) },
            decision: told.decision,
            action_type: Some(told.action),
            input: told.input,
            output: told.output,
            error: told.error,
            correlation_id: told.correlation,
            target_system: system,
            target_resource: resource,
            sandbox_id: self.claims.then(|| self.sandbox.clone()),
            binding: Some(Binding {
                sandbox_id: self.sandbox.clone(),
                endpoint: told.family.map(|family| format!("/{}", family.name())),
                placement: None,
            }),
            coverage: Some(coverage()),
            ..Frame::default()
        }
    }

    /// Marks that an action has begun.
    pub(super) fn begin(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::SeqCst);
        self.account.begin();
        Open(Arc::clone(self))
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

    /// From now on an action that ends early was interrupted by us.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Whether we are stopping.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// An action that has begun; dropped when it is told of.
pub(super) struct Open(Arc<Teller>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.account.end();
        if self.0.open.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// What this proxy sees, and the surfaces of execd that it only knows as `unknown`, or refuses.
fn coverage() -> Value {
    json!({
        "covers": ["command", "code", "files", "directories", "pty"],
        "excludes": ["code_contexts", "interrupts", "sessions", "port_proxy"],
        "placement": "execd",
        "opensandbox_version": "unknown",
    })
}

/// A target of the lengths that a frame may have; a longer resource is left out, never cut.
fn bounded((system, resource): (String, String)) -> Option<(String, String)> {
    let end = (0..=system.len().min(SYSTEM)).rev().find(|at| system.is_char_boundary(*at));
    let system = system[..end.unwrap_or(0)].to_owned();
    (resource.len() <= RESOURCE && !resource.is_empty()).then_some((system, resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_is_a_drop() {
        let (queue, mut frames) = tokio::sync::mpsc::channel(1);
        let drops = Arc::new(Drops::default());
        let account = Arc::new(Account::new("s1"));
        let teller = Teller::new("s1".to_owned(), false, queue, Arc::clone(&drops), account);
        for _ in 0..3 {
            teller.tell(Told::default());
        }
        assert_eq!(drops.count(), 2);
        assert!(frames.try_recv().is_ok() && frames.try_recv().is_err());
    }
}
