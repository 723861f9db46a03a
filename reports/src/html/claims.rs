//! Claims set against results: a row a capability.

use std::collections::BTreeSet;

use super::escape::text;
use super::tables::Table;
use crate::claims::{Claim, Standing, all};
use crate::matrix::Matrix;

/// Every capability that some backend claims or some case is about.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let claims: Vec<Vec<Claim<'_>>> = matrix
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| all(&column.backend.claims, matrix.rows_of(index)))
        .collect();
    let names: BTreeSet<&str> = claims.iter().flatten().map(|claim| claim.capability).collect();
    let mut table = Table::new(matrix, "claims against results", "capability");
    for name in names {
        let cells = matrix.columns.iter().zip(&claims).map(|(column, claims)| {
            let whole = column.header.selection.filters.is_empty();
            cell(claims.iter().find(|claim| claim.capability == name), whole)
        });
        table.row(&text(name), cells);
    }
    format!(
        "<section id=\"claims\">\n<h2>Claims against results</h2>\n<p class=\"soft\">What each \
         backend claims, and passed of judged cases about it. Over-claimed: claimed, and a case \
         about it failed. Under-claimed: not claimed, and every case about it passed.</p>\n{}\
         </section>\n",
        table.end()
    )
}

/// `whole`: nothing was filtered out of the run, so that what was not judged is a gap.
fn cell(claim: Option<&Claim<'_>>, whole: bool) -> String {
    let Some(claim) = claim else {
        return "<td class=\"nil\">-</td>".to_owned();
    };
    let (class, standing) = match claim.standing() {
        Standing::Shown => ("full", ""),
        Standing::Over => ("part", "<b>✗ over-claimed</b>"),
        Standing::Under => ("less", "<b>+ under-claimed</b>"),
        Standing::Unshown if whole => ("nil", "<b>? not judged here</b>"),
        Standing::Unshown | Standing::Absent => ("nil", ""),
    };
    format!("<td class=\"{class}\">{} {} {standing}</td>", text(claim.level), claim.share)
}
