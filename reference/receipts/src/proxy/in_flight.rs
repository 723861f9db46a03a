//! Frames in flight, and their owed events: lost unless they are settled.

use std::collections::VecDeque;
use std::sync::Arc;

use super::debt_journal::DebtJournal;
use super::drop_counter::DropCounter;
use crate::frame::EventFrame;

/// Frames that were taken from the queue, the oldest first.
pub(super) struct InFlightFrames {
    frames: VecDeque<EventFrame>,
    /// The losses that the first frame reports.
    carried: i64,
    drops: Arc<DropCounter>,
    account: Arc<DebtJournal>,
}

impl InFlightFrames {
    /// Nothing yet.
    pub(super) fn new(drops: &Arc<DropCounter>, account: &Arc<DebtJournal>) -> Self {
        let (drops, account) = (Arc::clone(drops), Arc::clone(account));
        Self { frames: VecDeque::new(), carried: 0, drops, account }
    }

    /// Some more.
    pub(super) fn push(&mut self, frames: Vec<EventFrame>) {
        self.frames.extend(frames);
    }

    /// Returns the number of frames.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns the frames; the first of them reports all losses so far.
    pub(super) fn loaded(&mut self) -> impl Iterator<Item = &EventFrame> {
        if let Some(first) = self.frames.front_mut() {
            self.carried = self.carried.saturating_add(self.drops.take());
            first.drop_count = (self.carried > 0).then_some(self.carried);
        }
        self.frames.iter()
    }

    /// Removes the first frame as taken, with its reported losses.
    pub(super) fn taken(&mut self) {
        self.frames.pop_front();
        self.account.mark_answered(u64::try_from(self.carried).unwrap_or_default() + 1);
        self.carried = 0;
    }

    /// Removes the first frame as wrong, which is no loss; the next one reports its losses.
    pub(super) fn wrong(&mut self) {
        self.frames.pop_front();
        self.account.mark_answered(1);
    }

    /// The first is lost.
    pub(super) fn lost(&mut self, why: &str) {
        self.frames.pop_front();
        self.drops.add(std::mem::take(&mut self.carried).saturating_add(1));
        eprintln!("proxy: a frame is lost ({} now): {why}", self.drops.count());
    }
}

impl Drop for InFlightFrames {
    fn drop(&mut self) {
        let frames = i64::try_from(self.frames.len()).unwrap_or(i64::MAX);
        self.drops.add(self.carried.saturating_add(frames));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(underway: &mut InFlightFrames) -> Vec<Option<i64>> {
        underway.loaded().map(|frame| frame.drop_count).collect()
    }

    #[test]
    fn the_first_tells_what_was_lost_and_what_is_not_settled_is_lost() {
        let (drops, account) = (Arc::<DropCounter>::default(), Arc::new(DebtJournal::new("s1")));
        let mut underway = InFlightFrames::new(&drops, &account);
        underway.push(vec![EventFrame::default(); 5]);
        drops.add(2);
        assert_eq!(counts(&mut underway), [Some(2), None, None, None, None]);
        // The frame was not taken: three are lost now, which the next one reports.
        underway.lost("for this test");
        assert_eq!(drops.count(), 3);
        assert_eq!(counts(&mut underway), [Some(3), None, None, None]);
        // A wrong frame is no loss, but has not reported its count.
        underway.wrong();
        assert_eq!(counts(&mut underway), [Some(3), None, None]);
        underway.taken();
        assert_eq!(counts(&mut underway), [None, None]);
        drops.add(1);
        assert_eq!(counts(&mut underway), [Some(1), None]);
        drop(underway);
        assert_eq!(drops.count(), 3);
    }
}
