//! Following a run while it goes on ([`RunWatch`]), and ending it before its end.

use std::collections::HashSet;
use std::ops::ControlFlow;

use boxproof_cases::Case;
use boxproof_reports::CaseRow;
use nix::sys::signal::Signal;

use super::{JudgedPairs, together, worth_another};
use crate::execution::CaseExecution;
use crate::judge::{Judgement, judge};
use crate::schedule::is_whole;

/// A follower of a run while it goes on.
pub trait RunWatch {
    /// Takes the number of arms that are done, and of all arms.
    fn arms(&mut self, _done: usize, _total: usize) {}

    /// Takes a case that was judged for the first time, and whether another try may follow.
    /// Returns whether the run is to go on.
    fn judged(&mut self, _row: &CaseRow, _again: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nothing follows it.
impl RunWatch for () {}

/// The reason why a run ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutReason {
    /// A signal came.
    Signal(Signal),
    /// The follower wants no more.
    Unwanted,
}

impl CutReason {
    pub(super) fn from_signal(signal: Option<Signal>) -> Self {
        signal.map_or(Self::Unwanted, Self::Signal)
    }
}

/// Makes the row of a (case, backend) pair.
type RowMaker<'a> = dyn Fn((usize, usize), (&CaseExecution, &Judgement)) -> CaseRow + 'a;

/// Tells the follower of a run about cases as they are judged.
pub(super) struct LiveNotices<'a, W> {
    pub(super) watch: &'a mut W,
    pub(super) row: &'a RowMaker<'a>,
    pub(super) told: HashSet<(usize, usize)>,
}

impl<W: RunWatch> LiveNotices<'_, W> {
    /// Tells of `pair`, once, when all its arms have been seen: `before` in earlier parts, and now.
    pub(super) fn notice_if_complete(
        &mut self,
        (pair, case): ((usize, usize), &Case),
        before: Option<&CaseExecution>,
        now: &CaseExecution,
    ) -> ControlFlow<()> {
        let both = before.map(|before| together(before.clone(), now.clone()));
        let execution = both.as_ref().unwrap_or(now);
        if self.told.contains(&pair) || !is_whole(case, execution) {
            return ControlFlow::Continue(());
        }
        self.judged(pair, (execution, &judge(case, execution)))
    }

    /// Tells of every one of `judged`.
    pub(super) fn all(&mut self, judged: &JudgedPairs) -> ControlFlow<()> {
        let mut pairs = judged.iter();
        pairs.try_for_each(|(pair, (execution, judgement))| {
            self.judged(*pair, (execution, judgement))
        })
    }

    fn judged(
        &mut self,
        pair: (usize, usize),
        (execution, judgement): (&CaseExecution, &Judgement),
    ) -> ControlFlow<()> {
        self.told.insert(pair);
        let again = execution.reply.is_none() && worth_another(judgement);
        self.watch.judged(&(self.row)(pair, (execution, judgement)), again)
    }
}
