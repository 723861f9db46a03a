//! Claims set against results ([`table`]): each backend's claims, and the observations.

use std::collections::{BTreeMap, BTreeSet};

use crate::conformance::PassedShare;
use crate::matrix::Matrix;
use crate::record::{CaseRow, Level, TwinState};
use crate::row_reading::is_built_in;
use crate::verdict::{Outcome, Verdict};

/// One capability of one backend, as claimed and as seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityClaim<'a> {
    /// The capability.
    pub capability: &'a str,
    /// The level claimed.
    pub level: &'a str,
    /// The rows of cases about it.
    pub share: PassedShare,
    /// The cases about it that failed, in the order of the rows.
    pub failed: Vec<&'a str>,
    /// How many of them failed as known.
    pub known: usize,
    /// True if a case about it, asked where it is not claimed, showed it.
    pub contradicted: bool,
}

/// The standing of a claim against the results. The order is the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimStanding {
    /// Claimed, and a case about it failed.
    Over,
    /// Claimed in part, and every case about it was judged and passed.
    Under,
    /// Not claimed, and every judged case about it passed.
    Works,
    /// Claimed, and no case about it was judged.
    Unmeasured,
    /// Claimed, and every judged case about it passed, or failed as known where a part is claimed.
    Confirmed,
    /// Not claimed, and the cases about it do not show it.
    Absent,
}

impl ClaimStanding {
    /// Every standing, in order.
    pub const ALL: [Self; 6] =
        [Self::Over, Self::Under, Self::Works, Self::Unmeasured, Self::Confirmed, Self::Absent];

    /// The words for it in every report; none where there is nothing to say.
    #[must_use]
    pub fn standing_label(self) -> &'static str {
        match self {
            Self::Over => "over-claimed",
            Self::Under => "under-claimed",
            Self::Works => "works, not claimed",
            Self::Unmeasured => "not measured",
            Self::Confirmed => "confirmed",
            Self::Absent => "",
        }
    }

    /// Returns the meaning of the standing.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Over => "claimed, and a case about it failed",
            Self::Under => "claimed in part, and every case about it passed",
            Self::Works => "not claimed, and every case about it that was asked showed it",
            Self::Unmeasured => "claimed, and no case about it was judged",
            Self::Confirmed => {
                "claimed, and every judged case passed, known limits of a part apart"
            }
            Self::Absent => "not claimed, and not shown",
        }
    }

    /// Returns whether claim and results do not agree, or cannot be compared.
    #[must_use]
    pub fn is_telling(self) -> bool {
        self <= Self::Unmeasured
    }
}

/// The level of a capability that is not claimed.
const NOT_CLAIMED: &str = "none";
/// The level of a capability that is claimed for some policies and not for others.
const IN_PART: &str = "partial";

impl CapabilityClaim<'_> {
    /// Returns the standing of the claim against the results.
    #[must_use]
    pub fn standing(&self) -> ClaimStanding {
        let PassedShare { passed, judged, unjudged } = self.share;
        let all_passed = judged > 0 && passed == judged;
        match self.level {
            NOT_CLAIMED if all_passed || (judged == 0 && self.contradicted) => ClaimStanding::Works,
            NOT_CLAIMED => ClaimStanding::Absent,
            // What it lacks is what it does not claim.
            IN_PART if judged > 0 && self.failed.len() == self.known && !all_passed => {
                ClaimStanding::Confirmed
            }
            _ if passed < judged => ClaimStanding::Over,
            _ if judged == 0 => ClaimStanding::Unmeasured,
            IN_PART if unjudged == 0 => ClaimStanding::Under,
            _ => ClaimStanding::Confirmed,
        }
    }
}

/// Every capability that is claimed or is what a case is about, by name. What a case needs besides
/// only makes it possible to ask.
#[must_use]
pub fn all<'a>(
    claims: &'a BTreeMap<String, String>,
    rows: impl Iterator<Item = &'a CaseRow>,
) -> Vec<CapabilityClaim<'a>> {
    let mut needing: BTreeMap<&str, Vec<&'a CaseRow>> = BTreeMap::new();
    for name in claims.keys() {
        needing.entry(name).or_default();
    }
    for row in rows.filter(|row| !is_beside_denial(row) && !is_beyond_claim(row)) {
        for subject in row.subjects() {
            needing.entry(subject).or_default().push(row);
        }
    }
    let claim = |(capability, rows): (&'a str, Vec<&'a CaseRow>)| {
        let level = claims.get(capability).map_or(NOT_CLAIMED, String::as_str);
        let failing: Vec<_> = rows.iter().filter(|row| row.verdict.is_failure()).collect();
        let known = failing.iter().filter(|row| row.outcome == Outcome::Xfail).count();
        let failed = failing.iter().map(|row| row.id.as_str()).collect();
        let contradicted = rows.iter().any(|row| row.verdict == Verdict::Contradiction);
        let share = rows.into_iter().collect();
        CapabilityClaim { capability, level, share, failed, known, contradicted }
    };
    needing.into_iter().map(claim).collect()
}

/// The reason codes of a denial that held, and whose run ended otherwise than asked.
const ENDS: [&str; 4] = ["exit", "lived-on", "not-refused", "policy-refused"];

/// Returns whether a case that expects a denial failed for something else: it is its twin that is
/// refused, or more than the denial, or the run ends otherwise. That takes nothing from the claim.
fn is_beside_denial(row: &CaseRow) -> bool {
    let beside = match row.verdict {
        Verdict::OverBlock => true,
        Verdict::Contract => ENDS.contains(&row.reason.as_str()),
        _ => false,
    };
    beside && row.twin != TwinState::NotNeeded
}

/// Returns whether a case failed that asks for more than each backend with its claim must do.
fn is_beyond_claim(row: &CaseRow) -> bool {
    row.verdict.is_failure() && row.level != Level::Must
}

/// One capability across all columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRow<'a> {
    /// The capability.
    pub capability: &'a str,
    /// A cell a column; `None` where it is neither claimed nor asked about.
    pub cells: Vec<Option<(CapabilityClaim<'a>, ClaimStanding)>>,
}

impl ClaimRow<'_> {
    /// Returns whether claim and results do not agree in some column.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        self.cells.iter().flatten().any(|(_, standing)| standing.is_telling())
    }
}

/// Compares claims with results: a row a capability, by name. What a filter left out of a run, or a
/// corpus of the user's own does not ask, is no gap of its claims.
#[must_use]
pub fn table<'a>(matrix: &Matrix<'a>) -> Vec<ClaimRow<'a>> {
    let columns: Vec<BTreeMap<&str, (CapabilityClaim<'a>, ClaimStanding)>> =
        (0..matrix.columns.len()).map(|column| of_column(matrix, column)).collect();
    let names: BTreeSet<&str> = columns.iter().flat_map(|column| column.keys().copied()).collect();
    let row = |capability| ClaimRow {
        capability,
        cells: columns.iter().map(|column| column.get(capability).cloned()).collect(),
    };
    names.into_iter().map(row).collect()
}

fn of_column<'a>(
    matrix: &Matrix<'a>,
    column: usize,
) -> BTreeMap<&'a str, (CapabilityClaim<'a>, ClaimStanding)> {
    let head = &matrix.columns[column];
    let whole = head.header.selection.filters.is_empty() && is_built_in(head.header);
    let claims = all(&head.backend.claims, matrix.rows_of(column));
    let with_standing = |claim: CapabilityClaim<'a>| {
        let standing = match claim.standing() {
            ClaimStanding::Unmeasured if !whole => ClaimStanding::Absent,
            standing => standing,
        };
        (claim.capability, (claim, standing))
    };
    claims.into_iter().map(with_standing).collect()
}
