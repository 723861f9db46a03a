//! Totals of rows ([`OutcomeTally`]) and the line every run ends with.

use std::fmt;

use crate::record::{CaseRow, TwinState};
use crate::verdict::Verdict;

/// The number of rows of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeTally {
    counts: [u64; Verdict::ALL.len()],
    /// Passes whose case has no twin.
    pub passes_without_twin: u64,
    /// Passes whose twin the backend cannot express.
    pub passes_inexpressible: u64,
    /// Rows of which an earlier try came to another verdict.
    pub flaky: u64,
}

impl OutcomeTally {
    /// Rows with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.counts[verdict as usize]
    }

    /// All rows.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Rows from which something was learnt.
    #[must_use]
    pub fn judged(&self) -> u64 {
        Verdict::ALL.into_iter().filter(|v| v.is_judged()).map(|v| self.count(v)).sum()
    }

    fn add(&mut self, row: &CaseRow) {
        self.counts[row.verdict as usize] += 1;
        let pass_with = |twin| u64::from(row.verdict == Verdict::Pass && row.twin == twin);
        self.passes_without_twin += pass_with(TwinState::None);
        self.passes_inexpressible += pass_with(TwinState::Inexpressible);
        self.flaky += u64::from(row.is_flaky());
    }
}

impl<'a> FromIterator<&'a CaseRow> for OutcomeTally {
    fn from_iter<I: IntoIterator<Item = &'a CaseRow>>(rows: I) -> Self {
        let mut tally = Self::default();
        rows.into_iter().for_each(|row| tally.add(row));
        tally
    }
}

/// The last line of a run: `N cases: P pass, …` with every other count that is not zero.
impl fmt::Display for OutcomeTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cases: {} pass", self.total(), self.count(Verdict::Pass))?;
        for verdict in Verdict::ALL.into_iter().skip(1).filter(|v| self.count(*v) > 0) {
            write!(f, ", {} {verdict}", self.count(verdict))?;
        }
        let passes = if self.passes_without_twin > 0 { "" } else { "passes " };
        let parts = [
            (self.passes_without_twin, "passes without twin".to_owned()),
            (self.passes_inexpressible, format!("{passes}with inexpressible twin")),
            (self.flaky, "flaky".to_owned()),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, " ({})", parts.join(", ")) }
    }
}

/// The last line of a run, without a newline.
#[must_use]
pub fn summary_line<'a>(rows: impl IntoIterator<Item = &'a CaseRow>) -> String {
    rows.into_iter().collect::<OutcomeTally>().to_string()
}
