//! Measurements set against a table that was made by hand ([`compare`]). Pure: a difference is
//! agreement, explained, or a difference; nothing is guessed.

mod by_hand;
mod check;
mod measured;
mod page;
mod render;

use std::collections::BTreeMap;

pub use by_hand::{Because, ByHand, Column, Difference, Probe, Seen, Word};
pub use measured::Measured;
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
    pub columns: Vec<Compared>,
    /// Columns of the matrix that the table does not have, and why.
    pub apart: Vec<String>,
}

/// One backend under one user.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The backend and version that was measured.
    pub measured: String,
    /// The user, host and time of the run.
    pub place: String,
    /// The table's column and version.
    pub by_hand: String,
    /// One a probe, in the order of their ids.
    pub lines: Vec<Line>,
}

/// One probe of one backend under one user.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The probe's id.
    pub probe: String,
    /// The question of the probe.
    pub asks: String,
    /// The outcome by hand.
    pub by_hand: String,
    /// The measurement.
    pub measured: String,
    /// The relation of the two.
    pub status: Status,
}

/// The relation of a measurement and an outcome by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
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
pub struct Counts {
    /// See [`Status::Agree`].
    pub agree: usize,
    /// See [`Status::Explained`].
    pub explained: usize,
    /// See [`Status::Differs`].
    pub differ: usize,
    /// See [`Status::Stale`].
    pub stale: usize,
    /// See [`Status::Unlearnt`].
    pub unlearnt: usize,
    /// See [`Status::NotAsked`].
    pub not_asked: usize,
}

impl Counts {
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
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for line in self.columns.iter().flat_map(|column| &column.lines) {
            *match line.status {
                Status::Agree => &mut counts.agree,
                Status::Explained(_) => &mut counts.explained,
                Status::Differs => &mut counts.differ,
                Status::Stale(_) => &mut counts.stale,
                Status::Unlearnt => &mut counts.unlearnt,
                Status::NotAsked => &mut counts.not_asked,
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

fn apart(column: &matrix::Column<'_>, known: bool) -> String {
    let label = clean(&backend_label(column.backend));
    let user = column.header.user.kind.word();
    if known {
        format!("{label}: not run by hand as {user}")
    } else {
        format!("{label}: not run by hand")
    }
}

fn compared(
    column: &matrix::Column<'_>,
    name: &str,
    by_hand: &Column,
    lines: Vec<Line>,
) -> Compared {
    Compared {
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
) -> Vec<Line> {
    let line = |(id, probe): (&String, &Probe)| {
        let seen = table.seen(probe, column, user)?;
        let measured = Measured::of(&probe.cases, |id| rows.get(id).copied());
        let accepted = table.meaning(probe, &seen.word)?;
        let same = agrees(&seen, accepted, measured.verdict);
        let known = table.differences.iter().filter(|known| known.covers(id, column, user));
        let known: Vec<&Difference> = known.collect();
        Some(Line {
            probe: id.clone(),
            asks: probe.asks.clone(),
            by_hand: words(&seen, accepted),
            status: status(&measured, same, &known),
            measured: clean(&measured.words),
        })
    };
    table.probes.iter().filter_map(line).collect()
}

/// Returns whether the verdict agrees with the outcome. If a rule cannot be stated, not asking is
/// right, too.
fn agrees(seen: &Seen, word: &Word, verdict: Option<Verdict>) -> bool {
    let unstated = seen.unstated && verdict == Some(Verdict::Unsupported);
    unstated || verdict.is_some_and(|verdict| word.verdicts.contains(&verdict))
}

fn status(measured: &Measured, same: bool, known: &[&Difference]) -> Status {
    let reason = |known: &Difference| format!("{}: {}", known.because.word(), known.reason.trim());
    let verdict = match measured.verdict {
        None | Some(Verdict::NotApplicable | Verdict::Skipped) => return Status::NotAsked,
        Some(verdict) => verdict,
    };
    if same {
        return known.first().map_or(Status::Agree, |known| Status::Stale(reason(known)));
    }
    match known.iter().find(|known| known.explains(verdict, &measured.code)) {
        Some(known) => Status::Explained(reason(known)),
        None if verdict.is_unlearnt() => Status::Unlearnt,
        None => Status::Differs,
    }
}

/// The outcome with its marks; see [`LEGEND`].
fn words(seen: &Seen, word: &Word) -> String {
    let note = seen.note.iter().map(|note| format!(" ({note})")).collect::<String>();
    let against = if word.meets == Some(false) { "!" } else { "" };
    let unstated = if seen.unstated { "°" } else { "" };
    format!("{}{against}{unstated}{note}", seen.word)
}
