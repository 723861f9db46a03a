//! Following a run while it goes on ([`RunWatch`]), and ending it before its end.

use std::collections::HashSet;
use std::ops::ControlFlow;

use boxproof_cases::Case;
use boxproof_reports::CaseRow;
use nix::sys::signal::Signal;

use super::{JudgedPairs, is_worth_another};
use crate::case_pair::CasePair;
use crate::execution::{CaseExecution, ExecutedArms, is_whole};
use crate::judge::{Judgement, judge};

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

/// Makes the row of a pair.
type RowMaker<'a> = dyn Fn(CasePair, (&CaseExecution, &Judgement)) -> CaseRow + 'a;

/// Tells the follower of a run about cases as they are judged.
pub(super) struct LiveNotices<'a, W> {
    pub(super) watch: &'a mut W,
    pub(super) row: &'a RowMaker<'a>,
    pub(super) told: HashSet<CasePair>,
}

impl<W: RunWatch> LiveNotices<'_, W> {
    /// Tells of `pair`, once, when all its arms have been seen: `before` in earlier parts, and now.
    pub(super) fn notice_if_complete(
        &mut self,
        (pair, case): (CasePair, &Case),
        before: Option<&ExecutedArms>,
        now: &ExecutedArms,
    ) -> ControlFlow<()> {
        if self.told.contains(&pair) {
            return ControlFlow::Continue(());
        }
        let kinds = before.into_iter().chain([now]).flat_map(|arms| arms.keys());
        if !is_whole(case, kinds) {
            return ControlFlow::Continue(());
        }
        let arms = before.into_iter().chain([now]).flatten();
        let arms = arms.map(|(kind, arm)| (*kind, arm.clone())).collect();
        let Some(execution) = CaseExecution::from_arms(case, arms) else {
            return ControlFlow::Continue(());
        };
        self.judged(pair, (&execution, &judge(case, &execution)))
    }

    /// Tells of every one of `judged` that it has not told of.
    pub(super) fn all(&mut self, judged: &JudgedPairs) -> ControlFlow<()> {
        let mut pairs = judged.iter();
        pairs.try_for_each(|(pair, (execution, judgement))| match self.told.contains(pair) {
            true => ControlFlow::Continue(()),
            false => self.judged(*pair, (execution, judgement)),
        })
    }

    fn judged(
        &mut self,
        pair: CasePair,
        (execution, judgement): (&CaseExecution, &Judgement),
    ) -> ControlFlow<()> {
        self.told.insert(pair);
        let again = is_worth_another(execution, judgement);
        self.watch.judged(&(self.row)(pair, (execution, judgement)), again)
    }
}
