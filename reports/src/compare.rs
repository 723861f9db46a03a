//! Measurements set against a table that was made by hand ([`compare`]). Pure: a difference is
//! agreement, explained, or a difference; nothing is guessed.

mod by_hand;
mod check;
mod measured;
mod page;
mod render;

use std::collections::BTreeMap;

pub use by_hand::{
    ByHand, DifferenceCause, HandColumn, HandOutcome, HandQuestion, KnownDifference, OutcomeMeaning,
};
pub use measured::MeasuredProbe;
pub use page::page;
pub use render::render;

use crate::label::{backend_label, place_words};
use crate::matrix::{self, Matrix};
use crate::record::{CaseRow, UserKind};
use crate::text::clean;
use crate::verdict::Verdict;

/// The meaning of the marks at outcomes.
const LEGEND: &str =
    "! does not meet the policy; ° seen without the rule, which the backend cannot state";

/// A table made by hand beside what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One for each column of the matrix that the table has, too.
    pub columns: Vec<ComparedBackend>,
    /// Columns of the matrix that the table does not have, and why.
    pub apart: Vec<String>,
}

/// One backend under one user.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedBackend {
    /// The backend and version that was measured.
    pub measured: String,
    /// The user, host and time of the run.
    pub place: String,
    /// The table's column and version.
    pub by_hand: String,
    /// One a probe, in the order of their ids.
    pub lines: Vec<ComparisonLine>,
}

/// One probe of one backend under one user.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonLine {
    /// The probe's id.
    pub probe: String,
    /// The question of the probe.
    pub asks: String,
    /// The outcome by hand.
    pub by_hand: String,
    /// The measurement.
    pub measured: String,
    /// The relation of the two.
    pub status: AgreementStatus,
}

/// The relation of a measurement and an outcome by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgreementStatus {
    /// They say the same.
    Agree,
    /// They differ, for a known reason.
    Explained(String),
    /// They differ, and no explanation is recorded.
    Differs,
    /// They say the same although a reason is given why they should not.
    Stale(String),
    /// Nothing was learnt by measuring.
    Unlearnt,
    /// Here nothing was asked by measuring.
    NotAsked,
}

/// The number of lines of each status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusCounts {
    /// See [`AgreementStatus::Agree`].
    pub agree: usize,
    /// See [`AgreementStatus::Explained`].
    pub explained: usize,
    /// See [`AgreementStatus::Differs`].
    pub differ: usize,
    /// See [`AgreementStatus::Stale`].
    pub stale: usize,
    /// See [`AgreementStatus::Unlearnt`].
    pub unlearnt: usize,
    /// See [`AgreementStatus::NotAsked`].
    pub not_asked: usize,
}

impl StatusCounts {
    /// Returns the number of lines that were compared.
    #[must_use]
    pub fn compared(self) -> usize {
        self.agree + self.explained + self.differ + self.stale
    }

    /// Returns the exit code: 1 if a difference is not explained or an explanation is out of date,
    /// 3 if nothing was compared or something was not learnt, else 0.
    #[must_use]
    pub fn exit(self) -> i32 {
        if self.differ + self.stale > 0 {
            1
        } else if self.compared() == 0 || self.unlearnt > 0 {
            3
        } else {
            0
        }
    }
}

impl Comparison {
    /// Counts the lines of each status.
    #[must_use]
    pub fn counts(&self) -> StatusCounts {
        let mut counts = StatusCounts::default();
        for line in self.columns.iter().flat_map(|column| &column.lines) {
            *match line.status {
                AgreementStatus::Agree => &mut counts.agree,
                AgreementStatus::Explained(_) => &mut counts.explained,
                AgreementStatus::Differs => &mut counts.differ,
                AgreementStatus::Stale(_) => &mut counts.stale,
                AgreementStatus::Unlearnt => &mut counts.unlearnt,
                AgreementStatus::NotAsked => &mut counts.not_asked,
            } += 1;
        }
        counts
    }
}

/// Sets every column of `matrix` against `table`.
#[must_use]
pub fn compare(table: &ByHand, matrix: &Matrix<'_>) -> Comparison {
    let mut comparison = Comparison { columns: Vec::new(), apart: Vec::new() };
    for (at, column) in matrix.columns.iter().enumerate() {
        let user = column.header.user.kind;
        let found = table.column(&column.backend.name, &column.backend.version);
        match found.filter(|(_, by_hand)| by_hand.users.contains(&user)) {
            Some((name, by_hand)) => {
                let rows = matrix.rows_of(at).map(|row| (row.id.as_str(), row)).collect();
                let lines = lines(table, name, user, &rows);
                comparison.columns.push(compared(column, name, by_hand, lines));
            }
            None => comparison.apart.push(apart(column, found.is_some())),
        }
    }
    comparison
}

fn apart(column: &matrix::MatrixColumn<'_>, known: bool) -> String {
    let label = clean(&backend_label(column.backend));
    let user = column.header.user.kind.keyword();
    if known {
        format!("{label}: not run by hand as {user}")
    } else {
        format!("{label}: not run by hand")
    }
}

fn compared(
    column: &matrix::MatrixColumn<'_>,
    name: &str,
    by_hand: &HandColumn,
    lines: Vec<ComparisonLine>,
) -> ComparedBackend {
    ComparedBackend {
        measured: clean(&backend_label(column.backend)),
        place: place_words(column.header),
        by_hand: format!("{name} {}", by_hand.version).trim_end().to_owned(),
        lines,
    }
}

fn lines(
    table: &ByHand,
    column: &str,
    user: UserKind,
    rows: &BTreeMap<&str, &CaseRow>,
) -> Vec<ComparisonLine> {
    let line = |(id, probe): (&String, &HandQuestion)| {
        let seen = table.outcome_for(probe, column, user)?;
        let measured = MeasuredProbe::combine_rows(&probe.cases, |id| rows.get(id).copied());
        let accepted = table.meaning(probe, &seen.word)?;
        let same = agrees(&seen, accepted, measured.verdict);
        let known = table.differences.iter().filter(|known| known.covers(id, column, user));
        let known: Vec<&KnownDifference> = known.collect();
        Some(ComparisonLine {
            probe: id.clone(),
            asks: probe.asks.clone(),
            by_hand: outcome_text(&seen, accepted),
            status: status(&measured, same, &known),
            measured: clean(&measured.words),
        })
    };
    table.probes.iter().filter_map(line).collect()
}

/// Returns whether the verdict agrees with the outcome. If a rule cannot be stated, not asking is
/// right, too.
fn agrees(seen: &HandOutcome, word: &OutcomeMeaning, verdict: Option<Verdict>) -> bool {
    let unstated = seen.unstated && verdict == Some(Verdict::Unsupported);
    unstated || verdict.is_some_and(|verdict| word.verdicts.contains(&verdict))
}

fn status(measured: &MeasuredProbe, same: bool, known: &[&KnownDifference]) -> AgreementStatus {
    let reason =
        |known: &KnownDifference| format!("{}: {}", known.because.keyword(), known.reason.trim());
    let verdict = match measured.verdict {
        None | Some(Verdict::NotApplicable | Verdict::Skipped) => return AgreementStatus::NotAsked,
        Some(verdict) => verdict,
    };
    if same {
        return known
            .first()
            .map_or(AgreementStatus::Agree, |known| AgreementStatus::Stale(reason(known)));
    }
    match known.iter().find(|known| known.explains(verdict, &measured.code)) {
        Some(known) => AgreementStatus::Explained(reason(known)),
        None if verdict.is_unlearnt() => AgreementStatus::Unlearnt,
        None => AgreementStatus::Differs,
    }
}

/// The outcome with its marks; see [`LEGEND`].
fn outcome_text(seen: &HandOutcome, word: &OutcomeMeaning) -> String {
    let note = seen.note.iter().map(|note| format!(" ({note})")).collect::<String>();
    let against = if word.meets == Some(false) { "!" } else { "" };
    let unstated = if seen.unstated { "°" } else { "" };
    format!("{}{against}{unstated}{note}", seen.word)
}
