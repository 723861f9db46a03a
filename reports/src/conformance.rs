//! Conformance per level and area ([`PassedShare`]): never a single number.

use std::fmt;

use crate::record::CaseRow;
use crate::verdict::Verdict;

/// The share of the judged cases that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedShare {
    /// Rows that passed.
    pub passed: u64,
    /// Rows from which something was learnt.
    pub judged: u64,
    /// Rows from which nothing was: unsupported, not applicable, skipped, inconclusive, error.
    pub unjudged: u64,
}

impl<'a> FromIterator<&'a CaseRow> for PassedShare {
    fn from_iter<I: IntoIterator<Item = &'a CaseRow>>(rows: I) -> Self {
        let mut share = Self::default();
        for row in rows {
            share.passed += u64::from(row.verdict == Verdict::Pass);
            share.judged += u64::from(row.verdict.is_judged());
            share.unjudged += u64::from(!row.verdict.is_judged());
        }
        share
    }
}

/// `passed/judged`, then `+N` not judged; `-` where nothing was asked.
impl fmt::Display for PassedShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { judged: 0, unjudged: 0, .. } => f.write_str("-"),
            Self { passed, judged, unjudged: 0 } => write!(f, "{passed}/{judged}"),
            Self { passed, judged, unjudged } => write!(f, "{passed}/{judged} +{unjudged}"),
        }
    }
}
