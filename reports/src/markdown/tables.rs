//! Totals, conformance, and every case by area.

use super::budget::{BlockKind, PageBlock};
use super::escape::{code, text};
use crate::conformance::PassedShare;
use crate::matrix::{AreaSection, Matrix, MatrixRow};
use crate::record::{CaseRow, Level};
use crate::summary::OutcomeTally;
use crate::verdict::{Outcome, Verdict};

/// Verdicts by column.
pub(super) fn totals(matrix: &Matrix<'_>) -> PageBlock {
    let tallies: Vec<OutcomeTally> =
        (0..matrix.columns.len()).map(|column| matrix.rows_of(column).collect()).collect();
    let mut page = head(matrix, "verdict");
    let mut line = |name: &str, count: &dyn Fn(&OutcomeTally) -> u64| {
        if tallies.iter().any(|tally| count(tally) > 0) {
            page += &cells(name, tallies.iter().map(|tally| count(tally).to_string()));
        }
    };
    for verdict in Verdict::ALL {
        line(verdict.keyword(), &|tally| tally.count(verdict));
    }
    line("*passes without twin*", &|tally| tally.passes_without_twin);
    line("*passes with inexpressible twin*", &|tally| tally.passes_inexpressible);
    line("**cases**", &OutcomeTally::total);
    PageBlock::fixed(page + "\n")
}

/// Passed of judged per area, a table a level.
pub(super) fn conformance(matrix: &Matrix<'_>) -> Vec<PageBlock> {
    let mut page = "### Conformance\n\npassed/judged, +N not judged\n\n".to_owned();
    for level in Level::ALL {
        let areas: Vec<&AreaSection<'_>> =
            matrix.sections.iter().filter(|section| has_level(section, level)).collect();
        if areas.is_empty() {
            continue;
        }
        page += &head(matrix, level.keyword());
        for section in areas {
            let share = |column| share(section, column, Some(level)).to_string();
            page += &cells(&text(section.area), (0..matrix.columns.len()).map(share));
        }
        page.push('\n');
    }
    vec![PageBlock::fixed(page)]
}

/// Every case, folded by area.
pub(super) fn areas(matrix: &Matrix<'_>) -> Vec<PageBlock> {
    let title = PageBlock::fixed("### Cases\n\n".to_owned());
    let area = |section: &AreaSection<'_>| {
        let share = |column| share(section, column, None).to_string();
        let shares: Vec<String> = (0..matrix.columns.len()).map(share).collect();
        let summary = format!("{}: {}", text(section.area), shares.join(" · "));
        let open = format!("<details><summary>{summary}</summary>\n\n{}", head(matrix, "case"));
        let items = section.rows.iter().map(case).collect();
        PageBlock { sort: BlockKind::Case, open, items, close: "\n</details>\n\n".to_owned() }
    };
    [title].into_iter().chain(matrix.sections.iter().map(area)).collect()
}

fn case(row: &MatrixRow<'_>) -> String {
    cells(&code(row.id), row.cells.iter().map(|cell| cell.map_or("-".to_owned(), verdict)))
}

fn verdict(row: &CaseRow) -> String {
    let word = row.verdict.keyword();
    match row.outcome {
        Outcome::Expected => word.to_owned(),
        Outcome::Unexpected => format!("**{word}**"),
        Outcome::Xfail => format!("{word} (known)"),
        Outcome::Xpass => format!("**{word} (known failure)**"),
        Outcome::Flaky => format!("{word} (flaky)"),
    }
}

fn share(section: &AreaSection<'_>, column: usize, level: Option<Level>) -> PassedShare {
    let rows = section.rows.iter().filter_map(|row| row.cells[column]);
    rows.filter(|row| level.is_none_or(|level| row.level == level)).collect()
}

fn has_level(section: &AreaSection<'_>, level: Level) -> bool {
    section.rows.iter().flat_map(|row| row.cells.iter().flatten()).any(|row| row.level == level)
}

/// The head of a table with a column a backend.
pub(super) fn head(matrix: &Matrix<'_>, first: &str) -> String {
    let labels = matrix.columns.iter().map(|column| text(&column.label));
    cells(first, labels) + &cells("---", matrix.columns.iter().map(|_| "---".to_owned()))
}

/// One line of a table.
pub(super) fn cells(first: &str, rest: impl Iterator<Item = String>) -> String {
    let rest: String = rest.map(|cell| format!(" {cell} |")).collect();
    format!("| {first} |{rest}\n")
}
