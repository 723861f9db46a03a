//! Claims set against results: a row a capability.

use super::escape::text;
use super::tables::FigureTable;
use crate::claims::{CapabilityClaim, ClaimStanding, table};
use crate::matrix::Matrix;
use crate::sentences::over_claim_lines;

/// Every capability that some backend claims or some case is about.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let rows = table(matrix);
    let mut table = FigureTable::new(matrix, "claims against results", "capability");
    for row in &rows {
        table.row(&text(row.capability), row.cells.iter().map(|claim| cell(claim.as_ref())));
    }
    let over: String = over_claim_lines(matrix, &rows)
        .iter()
        .map(|line| format!("<li>{}</li>\n", text(line)))
        .collect();
    let over = match over.is_empty() {
        true => over,
        false => format!("<h3>Over-claimed</h3>\n<ul>\n{over}</ul>\n"),
    };
    format!(
        "<section id=\"claims\">\n<h2>Claims against results</h2>\n<p class=\"soft\">What each \
         backend claims, and passed of judged cases about it.{}</p>\n{}{over}</section>\n",
        legend(),
        table.end()
    )
}

/// Renders the meanings of the standings.
fn legend() -> String {
    let told = ClaimStanding::ALL.into_iter().filter(|standing| standing.is_telling());
    let words = told.map(|s| format!(" {}: {}.", capitalized(s.standing_label()), s.meaning()));
    words.collect()
}

fn capitalized(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}

fn cell(cell: Option<&(CapabilityClaim<'_>, ClaimStanding)>) -> String {
    let Some((claim, standing)) = cell else {
        return "<td class=\"nil\">-</td>".to_owned();
    };
    let (class, mark) = match standing {
        ClaimStanding::Confirmed => ("full", None),
        ClaimStanding::Over => ("part", Some('✗')),
        ClaimStanding::Under | ClaimStanding::Works => ("less", Some('+')),
        ClaimStanding::Unmeasured => ("nil", Some('?')),
        ClaimStanding::Absent => ("nil", None),
    };
    let words =
        mark.map(|mark| format!("<b>{mark} {}</b>", standing.standing_label())).unwrap_or_default();
    format!("<td class=\"{class}\">{} {} {words}</td>", text(claim.level), claim.share)
}
