//! Observations and judgements of a run: [`RunTries`], and what a second look showed.

use std::collections::HashMap;

use boxproof_reports::BlindLook;

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
    /// The first try of those that were tried again.
    pub earlier: JudgedPairs,
}

/// The second look at each pair that had one: the result, and the observations it rests on, if the
/// case could be looked at.
pub(crate) type BlindLooks = HashMap<CasePair, (BlindLook, Option<CaseExecution>)>;
