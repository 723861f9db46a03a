//! The log of refusals on the way out: a bounded list that outlives the proxy.

use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of refusals that are kept; later ones are not reported.
const KEPT: usize = 32;

/// A change of the rules that would let one host be reached, and no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRemedy {
    /// One more rule to allow.
    Allow(String),
    /// The removal of a rule to deny.
    WithoutDeny(String),
}

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedHost {
    /// Host and port, as they were understood.
    pub destination: String,
    /// The reason, for people.
    pub why: String,
    /// The change of the rules that would let it be reached.
    pub remedy: HostRemedy,
}

/// The refusals so far; copies share them.
#[derive(Debug, Clone, Default)]
pub(super) struct DenialLog(Arc<Mutex<Vec<DeniedHost>>>);

impl DenialLog {
    /// Keeps a refusal, unless there are enough or it is there.
    pub(super) fn add(&self, denied: DeniedHost) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT && !kept.contains(&denied) {
            kept.push(denied);
        }
    }

    /// All that were kept, in order.
    pub(super) fn take(&self) -> Vec<DeniedHost> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
