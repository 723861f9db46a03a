//! The summary of a published matrix ([`summary`]): a line a column.

use super::escape::text;
use super::tables::cells;
use crate::conformance::PassedShare;
use crate::label::{backend_label, host_label, missing_words};
use crate::matrix::{Matrix, MatrixColumn};
use crate::record::{CaseRow, Level};
use crate::summary::OutcomeTally;
use crate::verdict::Verdict;

/// The failures, each a column of the table.
const FAILURES: [Verdict; 4] =
    [Verdict::UnderBlock, Verdict::OverBlock, Verdict::Contract, Verdict::Leak];

/// A table with a line a backend, host and user, and what was not installed.
#[must_use]
pub fn summary(matrix: &Matrix<'_>) -> String {
    let heads = ["user", "passed of judged (must)"].into_iter();
    let heads = heads.chain(FAILURES.map(Verdict::keyword)).chain(["not asked", "not learnt"]);
    let heads: Vec<String> = heads.map(str::to_owned).collect();
    let mut page = cells("backend", heads.iter().cloned());
    page += &cells("---", heads.iter().map(|_| "---".to_owned()));
    for (index, column) in matrix.columns.iter().enumerate() {
        page += &line(column, &matrix.rows_of(index).collect::<Vec<_>>());
    }
    page.push('\n');
    page += &places(matrix);
    if !matrix.missing.is_empty() {
        let missing = matrix.missing.iter().map(|b| format!("- {}\n", text(&missing_words(b))));
        page += &format!(
            "\nNot installed where this was made, so not judged:\n\n{}",
            missing.collect::<String>()
        );
    }
    page
}

fn line(column: &MatrixColumn<'_>, rows: &[&CaseRow]) -> String {
    let tally: OutcomeTally = rows.iter().copied().collect();
    let must: PassedShare = rows.iter().copied().filter(|row| row.level == Level::Must).collect();
    let failures = FAILURES.map(|verdict| tally.count(verdict).to_string());
    let unlearnt = [Verdict::Inconclusive, Verdict::ProbeBroken, Verdict::Error];
    let unlearnt: u64 = unlearnt.into_iter().map(|verdict| tally.count(verdict)).sum();
    let unasked = tally.total() - tally.judged() - unlearnt;
    let figures =
        [column.header.user.kind.keyword().to_owned(), format!("{}/{}", must.passed, must.judged)];
    let rest = [unasked.to_string(), unlearnt.to_string()];
    cells(&text(&backend_label(column.backend)), figures.into_iter().chain(failures).chain(rest))
}

/// Renders the place and time of each run, once.
fn places(matrix: &Matrix<'_>) -> String {
    let mut places: Vec<String> = Vec::new();
    for MatrixColumn { header, .. } in &matrix.columns {
        let place = format!(
            "{} as {}, {}, corpus {}",
            host_label(header),
            header.user.kind.keyword(),
            header.started,
            crate::text::short_hash(&header.corpus.sha256)
        );
        if !places.contains(&place) {
            places.push(place);
        }
    }
    format!("Numbers are cases. Observed on {}.\n", text(&places.join("; ")))
}
