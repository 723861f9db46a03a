//! The summary for GitHub: totals, findings, conformance, claims, every case folded by area
//! ([`render`]). It fits a size budget: parts that do not fit are left out, and the page says so.

mod budget;
mod claims;
pub(crate) mod escape;
mod findings;
mod summary;
mod tables;

pub use summary::summary;

use budget::{PageBlock, fit};
use escape::text;

use crate::label::{backend_words, corpus_words, missing_words, place_words, selection_words};
use crate::matrix::Matrix;
use crate::scope::scope_lines;
use crate::sentences::{blind_lines, gap_lines, outcome_line, profile_lines};
use crate::summary::summary_line;

/// The most bytes GitHub takes for a comment, and a safe size for a step summary.
pub const GITHUB_BUDGET: usize = 65_535;

/// The size limit of a page that is kept as a file, in bytes: GitHub shows no larger one.
const FILE_BUDGET: usize = 500_000;

/// The page of a published matrix: the summary, then everything.
#[must_use]
pub fn published(matrix: &Matrix<'_>) -> String {
    let head =
        "<!-- Written by `boxproof matrix`; see README.md beside it. -->\n\n# The matrix\n\n";
    format!("{head}{}\n{}", summary(matrix), render(matrix, FILE_BUDGET))
}

/// Renders the matrix in at most `budget` bytes (at least 1 KiB are used). Details go first, then
/// cases that need no look, then findings.
#[must_use]
pub fn render(matrix: &Matrix<'_>, budget: usize) -> String {
    let mut blocks = vec![head(matrix), tables::totals(matrix)];
    blocks.extend(findings::tables(matrix));
    blocks.extend(findings::details(matrix));
    blocks.extend(tables::conformance(matrix));
    blocks.push(list("Profiles", &profile_lines(matrix)));
    blocks.push(claims::block(matrix));
    let limits = [gap_lines(matrix), scope_lines(matrix)].concat();
    blocks.push(list("Not covered by this run", &limits));
    let looks = blind_lines(matrix, true);
    blocks.push(list("Second look, with ordinary names and programs", &looks));
    blocks.extend(tables::areas(matrix));
    blocks.push(provenance(matrix));
    fit(blocks, budget)
}

fn head(matrix: &Matrix<'_>) -> PageBlock {
    let outcomes = outcome_line(matrix).map(|line| format!("{line}\n\n")).unwrap_or_default();
    let warning = |sentence: &String| format!("> **Not whole:** {}\n\n", text(sentence));
    let warnings: String = matrix.interrupted.iter().map(warning).collect();
    let line = summary_line(matrix.rows());
    PageBlock::fixed(format!("## boxproof\n\n{warnings}**{line}**\n\n{outcomes}"))
}

fn list(title: &str, lines: &[String]) -> PageBlock {
    if lines.is_empty() {
        return PageBlock::fixed(String::new());
    }
    let items: String = lines.iter().map(|line| format!("- {}\n", text(line))).collect();
    PageBlock::fixed(format!("### {title}\n\n{items}\n"))
}

fn provenance(matrix: &Matrix<'_>) -> PageBlock {
    let mut lines: Vec<String> =
        matrix.columns.first().map(|column| corpus_words(column.header)).into_iter().collect();
    for column in &matrix.columns {
        let (what, place) = (backend_words(column.backend), place_words(column.header));
        let selection = selection_words(column.header);
        lines.push(format!("{}: {what}; {place}; {selection}", column.label));
    }
    lines.extend(matrix.missing.iter().map(|backend| missing_words(backend)));
    list("Provenance", &lines)
}
