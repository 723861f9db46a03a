//! Observations and judgements of a run: [`RunTries`], and what a second look showed.

use std::collections::HashMap;

use boxproof_reports::BlindLook;

use crate::execution::CaseExecution;
use crate::judge::Judgement;

/// The judgements of a run: (case, backend) → observation and conclusion.
pub(crate) type JudgedPairs = HashMap<(usize, usize), (CaseExecution, Judgement)>;

/// The observations and conclusions, try by try.
#[derive(Debug, Default)]
pub struct RunTries {
    /// The last try of every pair.
    pub last: JudgedPairs,
    /// The first try of those that were tried again.
    pub earlier: JudgedPairs,
}

/// (case, backend) → what the second look showed.
pub(crate) type BlindLooks = HashMap<(usize, usize), BlindLook>;
