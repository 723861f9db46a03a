//! Two runs compared ([`diff`]): the change of each case, and the other differences.
//!
//! Columns are paired by backend, user and, if that leaves several, host; versions, hashes and host
//! facts may differ, and are reported as changes of the environment.

mod environment;
mod pairs;
mod render;

use std::collections::{BTreeMap, BTreeSet};

use crate::matrix::Matrix;
use crate::record::{CaseRow, TwinState};
use crate::verdict::{Outcome, Verdict};

pub use render::{markdown, terminal};

/// The change of one case of one column. The order is the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransitionKind {
    /// A denied act happens now.
    NewlyOpen,
    /// Something is left behind that was not.
    NewlyLeaking,
    /// An allowed act is refused now.
    NewlyOverBlocked,
    /// The decision is right, and a promise about it is not kept any more.
    NewlyBroken,
    /// A case that passed at once, or was not judged, passes on another try alone.
    NewlyFlaky,
    /// A judged case is not judged any more, or a pass has lost its twin.
    CoverageLost,
    /// A case that was there is not asked any more.
    Removed,
    /// A failed case passes, or one that passed on another try passes at once.
    Fixed,
    /// A failed case passes on another try alone.
    PartlyFixed,
    /// A case that was not judged is judged, and passes; or a pass has gained a twin.
    CoverageGained,
    /// An unchanged verdict for another reason; or unjudged for another.
    OtherReason,
    /// A case that was not asked.
    Added,
}

impl TransitionKind {
    /// Every kind, in order.
    pub const ALL: [Self; 12] = [
        Self::NewlyOpen,
        Self::NewlyLeaking,
        Self::NewlyOverBlocked,
        Self::NewlyBroken,
        Self::NewlyFlaky,
        Self::CoverageLost,
        Self::Removed,
        Self::Fixed,
        Self::PartlyFixed,
        Self::CoverageGained,
        Self::OtherReason,
        Self::Added,
    ];

    /// The heading of this kind.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::NewlyOpen => "newly open",
            Self::NewlyLeaking => "newly leaking",
            Self::NewlyOverBlocked => "newly over-blocked",
            Self::NewlyBroken => "promise newly broken",
            Self::NewlyFlaky => "newly flaky",
            Self::CoverageLost => "coverage lost",
            Self::Removed => "removed",
            Self::Fixed => "fixed",
            Self::PartlyFixed => "fixed in part",
            Self::CoverageGained => "coverage gained",
            Self::OtherReason => "same verdict, other reason",
            Self::Added => "added",
        }
    }

    /// Returns whether the change is for the worse.
    #[must_use]
    pub fn is_worse(self) -> bool {
        self <= Self::Removed
    }

    /// Returns the change from `before` to `after`, if there is one.
    #[must_use]
    pub fn between_rows(before: &CaseRow, after: &CaseRow) -> Option<Self> {
        let flaky = |row: &CaseRow| row.outcome == Outcome::Flaky;
        match (flaky(before), flaky(after)) {
            (true, false) if after.verdict == Verdict::Pass => return Some(Self::Fixed),
            (false, true) if before.verdict.is_failure() => return Some(Self::PartlyFixed),
            (false, true) => return Some(Self::NewlyFlaky),
            _ => {}
        }
        if before.verdict == after.verdict {
            return Self::within_verdict(before, after);
        }
        match after.verdict {
            Verdict::UnderBlock => Some(Self::NewlyOpen),
            Verdict::Leak => Some(Self::NewlyLeaking),
            Verdict::OverBlock => Some(Self::NewlyOverBlocked),
            Verdict::Contract => Some(Self::NewlyBroken),
            Verdict::Pass if before.verdict.is_failure() => Some(Self::Fixed),
            Verdict::Pass => Some(Self::CoverageGained),
            _ if before.verdict.is_judged() => Some(Self::CoverageLost),
            _ => Some(Self::OtherReason),
        }
    }

    fn within_verdict(before: &CaseRow, after: &CaseRow) -> Option<Self> {
        let shown = |row: &CaseRow| row.twin == TwinState::Shown;
        let passed = after.verdict == Verdict::Pass;
        match (shown(before), shown(after)) {
            (true, false) if passed && after.twin != TwinState::NotNeeded => {
                Some(Self::CoverageLost)
            }
            (false, true) if passed => Some(Self::CoverageGained),
            _ => (before.reason != after.reason).then_some(Self::OtherReason),
        }
    }
}

/// One case of one column that is not what it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition<'a> {
    /// The kind of change.
    pub kind: TransitionKind,
    /// The column, as the newer run calls it (the older one where it is gone).
    pub column: usize,
    /// The case.
    pub id: &'a str,
    /// The older result; absent if the case was not asked.
    pub before: Option<&'a CaseRow>,
    /// The newer result; absent if the case is not asked any more.
    pub after: Option<&'a CaseRow>,
}

impl Transition<'_> {
    /// Returns whether the case itself asks something else now.
    #[must_use]
    pub fn asks_otherwise(&self) -> bool {
        let asked = |row: Option<&CaseRow>| row.and_then(|row| row.asked.clone());
        match (asked(self.before), asked(self.after)) {
            (Some(before), Some(after)) => before != after,
            _ => false,
        }
    }
}

/// Two runs compared.
///
/// ```no_run
/// use std::fs::File;
/// use std::io::BufReader;
///
/// use boxproof_reports::{diff, merge, record};
///
/// let read = |path: &str| -> Result<_, Box<dyn std::error::Error>> {
///     Ok([record::read(BufReader::new(File::open(path)?))?])
/// };
/// let (before, after) = (read("before.ndjson")?, read("after.ndjson")?);
/// let (before, after) = (merge(&before)?, merge(&after)?);
/// for transition in diff(&before, &after).transitions {
///     println!("{}: {}", transition.kind.heading(), transition.id);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Diff<'a> {
    /// The name of each pair of columns, and of each column that has no partner.
    pub columns: Vec<String>,
    /// The indices of the columns that the newer run does not have.
    pub gone: BTreeSet<usize>,
    /// The changes of the cases: by kind, then in the order of columns and ids.
    pub transitions: Vec<Transition<'a>>,
    /// The other differences, one sentence each.
    pub environment: Vec<String>,
    /// The number of results that were compared: one per case and column.
    pub compared: u64,
}

impl Diff<'_> {
    /// Returns the number of transitions of each kind that occurs.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<TransitionKind, u64> {
        let mut counts = BTreeMap::new();
        for transition in &self.transitions {
            *counts.entry(transition.kind).or_default() += 1;
        }
        counts
    }

    /// Returns whether some transition is for the worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.transitions.iter().any(|transition| transition.kind.is_worse())
    }
}

/// Compares `after` with `before`.
#[must_use]
pub fn diff<'a>(before: &Matrix<'a>, after: &Matrix<'a>) -> Diff<'a> {
    let pairs = pairs::pair_columns(before, after);
    let mut found = Diff {
        columns: pairs.iter().map(|pair| pair.label.clone()).collect(),
        gone: (0..pairs.len()).filter(|column| pairs[*column].after.is_none()).collect(),
        transitions: Vec::new(),
        environment: environment::changes(before, after, &pairs),
        compared: 0,
    };
    for (column, pair) in pairs.iter().enumerate() {
        let rows = |matrix: &Matrix<'a>, column: Option<usize>| -> BTreeMap<&'a str, &'a CaseRow> {
            let rows = column.into_iter().flat_map(|column| matrix.rows_of(column));
            rows.map(|row| (row.id.as_str(), row)).collect()
        };
        let (old, new) = (rows(before, pair.before), rows(after, pair.after));
        let ids: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
        for id in ids {
            let (before, after) = (old.get(id).copied(), new.get(id).copied());
            let kind = match (before, after) {
                (Some(before), Some(after)) => {
                    found.compared += 1;
                    TransitionKind::between_rows(before, after)
                }
                (None, _) => Some(TransitionKind::Added),
                (_, None) => Some(TransitionKind::Removed),
            };
            let transition = kind.map(|kind| Transition { kind, column, id, before, after });
            found.transitions.extend(transition);
        }
    }
    found.transitions.sort_by_key(|transition| transition.kind);
    found
}
