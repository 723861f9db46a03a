//! Observations and judgements of a run: [`RunTries`], and what a second look showed.

use std::collections::HashMap;

use boxproof_reports::{BlindLook, StressCount, Verdict};

use crate::case_pair::CasePair;
use crate::execution::CaseExecution;
use crate::judge::Judgement;

/// The judgements of a run: the observation and conclusion of each pair.
pub(crate) type JudgedPairs = HashMap<CasePair, (CaseExecution, Judgement)>;

/// The observations and conclusions, try by try.
#[derive(Debug, Default)]
pub struct RunTries {
    /// The last try of every pair.
    pub last: JudgedPairs,
    /// The first try of those that were tried again; of repeated ones, one that came to another
    /// verdict than the last.
    pub earlier: JudgedPairs,
    /// The verdicts of all repetitions of those that were repeated.
    pub repetitions: HashMap<CasePair, StressCount>,
}

impl RunTries {
    /// Adds one repetition of everything. What failed once has failed: the worst try is kept as the
    /// last, and beside it one that came to another verdict.
    pub(crate) fn add_repetition(&mut self, round: JudgedPairs) {
        for (pair, tried) in round {
            let verdict = tried.1.verdict;
            self.repetitions.entry(pair).or_default().add(verdict);
            let shown = self.last.get(&pair).map(|(_, judgement)| judgement.verdict);
            match shown {
                Some(shown) if badness(verdict) <= badness(shown) => {
                    if verdict != shown {
                        self.earlier.entry(pair).or_insert(tried);
                    }
                }
                _ => {
                    let other = self.last.insert(pair, tried);
                    self.earlier.extend(other.map(|other| (pair, other)));
                }
            }
        }
    }
}

/// The order in which a try is kept: a failure before what taught nothing, and that before a pass.
fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        verdict if verdict.is_failure() => 2,
        _ => 1,
    }
}

/// The second look at each pair that had one: the result, and the observations it rests on, if the
/// case could be looked at.
pub(crate) type BlindLooks = HashMap<CasePair, (BlindLook, Option<CaseExecution>)>;
