//! The number of frames lost since the last one that arrived.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::ijson;

/// The largest count that a frame can carry.
const MOST: i64 = ijson::MOST as i64;

/// A counter that stays at its largest value instead of starting again.
#[derive(Debug, Default)]
pub(super) struct DropCounter(AtomicI64);

impl DropCounter {
    /// Counts `more` losses.
    pub(super) fn add(&self, more: i64) {
        let add = |count: i64| Some(count.saturating_add(more).min(MOST));
        let _always = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
    }

    /// Takes the count, for a frame that reports it.
    pub(super) fn take(&self) -> i64 {
        self.0.swap(0, Ordering::SeqCst)
    }

    /// Returns the number of lost frames.
    pub(super) fn count(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_never_turns_over() {
        let drops = DropCounter::default();
        drops.add(i64::MAX - 1);
        drops.add(3);
        assert_eq!(drops.take(), (1 << 53) - 1);
        assert_eq!(drops.count(), 0);
    }
}
