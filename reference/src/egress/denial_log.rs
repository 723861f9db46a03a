//! The log of refusals on the way out: a bounded list that outlives the proxy.

use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of refusals that are kept; later ones are counted.
const KEPT: usize = 256;

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
    /// The monotonic time of the refusal in nanoseconds.
    pub at_ns: u64,
}

/// The refusals so far, and the number of those that are not kept; copies share them.
#[derive(Debug, Clone, Default)]
pub(super) struct DenialLog(Arc<Mutex<(Vec<DeniedHost>, u64)>>);

impl DenialLog {
    /// Keeps a refusal, unless there are enough.
    pub(super) fn add(&self, denied: DeniedHost) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match log.0.len() < KEPT {
            true => log.0.push(denied),
            false => log.1 += 1,
        }
    }

    /// All that were kept, in order, and the number of the others.
    pub(super) fn take(&self) -> (Vec<DeniedHost>, u64) {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
