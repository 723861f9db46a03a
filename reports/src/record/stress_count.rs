//! The verdicts of a case that was repeated ([`StressCount`]).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// The verdicts of one case that was repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StressCount {
    /// The number of repetitions that were judged.
    pub runs: u32,
    /// Verdict → how often it came.
    pub verdicts: BTreeMap<Verdict, u32>,
}

impl StressCount {
    /// Counts one more repetition.
    pub fn add(&mut self, verdict: Verdict) {
        self.runs += 1;
        *self.verdicts.entry(verdict).or_default() += 1;
    }

    /// Returns how many repetitions did not pass.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.runs.saturating_sub(self.verdicts.get(&Verdict::Pass).copied().unwrap_or_default())
    }

    /// Returns whether the counts add up, and `shown` is among the verdicts.
    pub(crate) fn fits(&self, shown: Verdict) -> bool {
        let sum: u64 = self.verdicts.values().map(|count| u64::from(*count)).sum();
        sum == u64::from(self.runs) && self.verdicts.get(&shown).is_some_and(|count| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_or_do_not_fit() {
        let mut stress = StressCount::default();
        for verdict in [Verdict::Pass, Verdict::UnderBlock, Verdict::Pass] {
            stress.add(verdict);
        }
        assert_eq!((stress.runs, stress.failed()), (3, 1));
        assert!(stress.fits(Verdict::UnderBlock) && !stress.fits(Verdict::Leak));
        assert!(!StressCount { runs: 4, ..stress.clone() }.fits(Verdict::Pass));
    }
}
