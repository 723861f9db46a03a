//! The standing of backends on the profiles of a frozen set ([`table`]).

use std::fmt;

use crate::matrix::Matrix;
use crate::record::CaseRow;
use crate::verdict::{Outcome, Verdict};

/// The number of cases that a sentence names.
const NAMED: usize = 3;

/// The standing of one column on one profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conformance {
    /// Every required case passes, those that the host cannot show apart.
    Conformant,
    /// Some required cases fail, and all of these are listed as known failures.
    WithExceptions,
    /// Not every required case was asked, or none could be shown.
    Unmeasured,
    /// A required case fails, is not claimed, or taught nothing.
    Not,
}

impl Conformance {
    /// Returns the words for the standing in reports.
    #[must_use]
    pub fn standing_label(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::WithExceptions => "conformant with listed exceptions",
            Self::Unmeasured => "not measured whole",
            Self::Not => "not conformant",
        }
    }
}

/// One column and one profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileStanding<'a> {
    /// The profile.
    pub profile: &'a str,
    /// The column's place in the matrix.
    pub column: usize,
    /// The standing.
    pub standing: Conformance,
    /// The number of cases that the profile requires.
    pub required: u64,
    /// The number of cases that passed.
    pub passed: u64,
    /// The number of cases that the host cannot show.
    pub not_applicable: u64,
    /// Known failures, by id.
    pub exceptions: Vec<&'a str>,
    /// The other cases that did not pass, by id.
    pub failing: Vec<&'a str>,
    /// The number of cases that were not asked.
    pub unasked: u64,
}

/// Every profile and column that has rows of it, by profile, then by column.
#[must_use]
pub fn table<'a>(matrix: &Matrix<'a>) -> Vec<ProfileStanding<'a>> {
    let mut found = Vec::new();
    for (column, header) in matrix.columns.iter().map(|column| column.header).enumerate() {
        let profiles = header.set.iter().flat_map(|set| &set.profiles);
        found.extend(profiles.filter_map(|(profile, required)| {
            let of = |row: &&CaseRow| row.profiles.contains(profile);
            let rows: Vec<&CaseRow> = matrix.rows_of(column).filter(of).collect();
            (!rows.is_empty()).then(|| standing(profile, column, *required, &rows))
        }));
    }
    found.sort_by_key(|standing| (standing.profile, standing.column));
    found
}

fn standing<'a>(
    profile: &'a str,
    column: usize,
    required: u64,
    rows: &[&'a CaseRow],
) -> ProfileStanding<'a> {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count() as u64;
    let ids = |wanted: &dyn Fn(&CaseRow) -> bool| -> Vec<&'a str> {
        rows.iter().filter(|row| wanted(row)).map(|row| row.id.as_str()).collect()
    };
    let exceptions = ids(&|row| row.outcome == Outcome::Xfail);
    let failing = ids(&|row| {
        row.outcome != Outcome::Xfail
            && !matches!(row.verdict, Verdict::Pass | Verdict::NotApplicable)
    });
    let (passed, unasked) = (count(Verdict::Pass), required.saturating_sub(rows.len() as u64));
    let standing = match (failing.is_empty(), exceptions.is_empty()) {
        (false, _) => Conformance::Not,
        (true, _) if unasked > 0 || passed == 0 => Conformance::Unmeasured,
        (true, false) => Conformance::WithExceptions,
        (true, true) => Conformance::Conformant,
    };
    let not_applicable = count(Verdict::NotApplicable);
    ProfileStanding {
        profile,
        column,
        standing,
        required,
        passed,
        not_applicable,
        exceptions,
        failing,
        unasked,
    }
}

/// Renders the standing, the counts, and the first cases that are missing or failing.
impl fmt::Display for ProfileStanding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} pass", self.standing.standing_label(), self.passed, self.required)?;
        for (count, what) in [(self.not_applicable, "not applicable"), (self.unasked, "not asked")]
        {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        named(f, "known to fail", &self.exceptions)?;
        named(f, "amiss", &self.failing)
    }
}

fn named(f: &mut fmt::Formatter<'_>, what: &str, ids: &[&str]) -> fmt::Result {
    if ids.is_empty() {
        return Ok(());
    }
    write!(f, "; {} {what}: {}", ids.len(), ids[..ids.len().min(NAMED)].join(", "))?;
    match ids.len().saturating_sub(NAMED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
