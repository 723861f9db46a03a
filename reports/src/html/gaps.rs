//! The cases that the runs do not cover, by reason, and the standing of columns by profile.

use std::collections::{BTreeMap, BTreeSet};

use super::escape::text;
use super::tables::FigureTable;
use super::verdict_labels;
use crate::findings::gaps;
use crate::matrix::Matrix;
use crate::scope::scope_lines;
use crate::sentences::{blind_lines, profile_lines};
use crate::verdict::Verdict;

/// A row a verdict and reason.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let found: Vec<BTreeMap<(Verdict, &str), u64>> =
        (0..matrix.columns.len()).map(|column| gaps(matrix.rows_of(column))).collect();
    let kinds: BTreeSet<(Verdict, &str)> =
        found.iter().flat_map(|gaps| gaps.keys().copied()).collect();
    let mut table = FigureTable::new(matrix, "gaps by reason", "reason");
    for kind in &kinds {
        let count = |gaps: &BTreeMap<_, u64>| gaps.get(kind).copied().unwrap_or(0);
        let cells = found.iter().map(|gaps| cell(count(gaps)));
        let (word, symbol) = (kind.0.keyword(), verdict_labels::symbol(kind.0));
        let head = format!("<span class=\"chip {word}\">{symbol} {word}</span> {}", text(kind.1));
        table.row(&head, cells);
    }
    let body = match kinds.is_empty() {
        true => "<p>Every selected case was run.</p>\n".to_owned(),
        false => table.end(),
    };
    format!(
        "<section id=\"gaps\">\n<h2>Not covered</h2>\n<p class=\"soft\">Selected and not run, by reason.</p>\n{body}{}{}</section>\n",
        list("Not covered by any run here", &scope_lines(matrix)),
        list("Second look, with ordinary names and programs", &blind_lines(matrix, true))
    )
}

/// Renders a list below its title; an empty text if there is none.
fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", text(line))).collect();
    format!("<h3>{title}</h3>\n<ul>\n{items}</ul>\n")
}

/// Renders the standing of each column on the profiles of the frozen set; an empty text if there is
/// none.
pub(super) fn profiles(matrix: &Matrix<'_>) -> String {
    let items: Vec<String> =
        profile_lines(matrix).iter().map(|line| format!("<li>{}</li>\n", text(line))).collect();
    match items.is_empty() {
        true => String::new(),
        false => format!(
            "<section id=\"profiles\">\n<h2>Profiles</h2>\n<ul>\n{}</ul>\n</section>\n",
            items.concat()
        ),
    }
}

fn cell(count: u64) -> String {
    let class = if count == 0 { " class=\"nil\"" } else { "" };
    format!("<td{class}>{count}</td>")
}
