//! The rows a reader must see ([`Finding`]), and what a run does not cover ([`gaps`]).

use std::collections::BTreeMap;

use crate::matrix::Matrix;
use crate::record::CaseRow;
use crate::verdict::{Outcome, Verdict};

/// The reason why a row must be seen. The order is the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The row failed, or is unexpected in some other way.
    Failure,
    /// The row passed although it is a known failure.
    Xpass,
    /// Nothing was learnt from it.
    Unlearnt,
    /// The row passed, and an earlier try did not.
    Flaky,
    /// The row failed as known.
    Known,
}

impl FindingKind {
    /// Every kind, in order.
    pub const ALL: [Self; 5] =
        [Self::Failure, Self::Xpass, Self::Unlearnt, Self::Flaky, Self::Known];

    /// Returns the reason why this row must be seen; `None` when it need not be.
    #[must_use]
    pub fn from_row(row: &CaseRow) -> Option<Self> {
        match row.outcome {
            Outcome::Xfail => Some(Self::Known),
            Outcome::Xpass => Some(Self::Xpass),
            Outcome::Flaky => Some(Self::Flaky),
            _ if row.verdict.is_unlearnt() => Some(Self::Unlearnt),
            _ if row.verdict.is_failure() => Some(Self::Failure),
            Outcome::Unexpected => Some(Self::Failure),
            Outcome::Expected => None,
        }
    }

    /// The heading of this kind.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Failure => "failures",
            Self::Xpass => "known failures that now pass",
            Self::Unlearnt => "nothing learnt",
            Self::Flaky => "passed on another try",
            Self::Known => "known failures",
        }
    }
}

/// A row that must be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding<'a> {
    /// The column in the matrix.
    pub column: usize,
    /// The row.
    pub row: &'a CaseRow,
}

/// The findings of one kind: the most binding first, then in the order of columns and ids.
#[must_use]
pub fn findings<'a>(matrix: &Matrix<'a>, kind: FindingKind) -> Vec<Finding<'a>> {
    let of_kind = |row: &&CaseRow| FindingKind::from_row(row) == Some(kind);
    let mut found: Vec<Finding<'a>> = (0..matrix.columns.len())
        .flat_map(|column| matrix.rows_of(column).map(move |row| Finding { column, row }))
        .filter(|finding| of_kind(&finding.row))
        .collect();
    found.sort_by_key(|finding| finding.row.level);
    found
}

/// Findings that are alike: of one column and case, with the same verdict for the same reason. In
/// the order of the first of each.
#[must_use]
pub fn groups<'a>(found: &[Finding<'a>]) -> Vec<Vec<Finding<'a>>> {
    let mut groups: Vec<Vec<Finding<'a>>> = Vec::new();
    for finding in found {
        let alike = |group: &&mut Vec<Finding<'a>>| {
            group.first().is_some_and(|first| alike(first, finding))
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(*finding),
            None => groups.push(vec![*finding]),
        }
    }
    groups
}

fn alike(one: &Finding<'_>, other: &Finding<'_>) -> bool {
    let key = |finding: &Finding<'_>| (finding.column, finding.row.verdict, finding.row.level);
    key(one) == key(other) && one.row.reason == other.row.reason && stem(one.row) == stem(other.row)
}

/// The case of which a row is one, as far as the record says.
pub(crate) fn stem(row: &CaseRow) -> &str {
    let file = row.file.as_deref().and_then(|file| file.strip_suffix(".yaml"));
    match file {
        Some(file) if row.id.starts_with(file) => file,
        _ => &row.id,
    }
}

/// Counts the rows that were selected and not judged: verdict and reason → rows.
#[must_use]
pub fn gaps<'a>(rows: impl Iterator<Item = &'a CaseRow>) -> BTreeMap<(Verdict, &'a str), u64> {
    let mut gaps = BTreeMap::new();
    for row in rows.filter(|row| !row.verdict.is_judged() && !row.verdict.is_unlearnt()) {
        *gaps.entry((row.verdict, row.reason.as_str())).or_default() += 1;
    }
    gaps
}
