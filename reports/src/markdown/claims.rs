//! Claims against results: a line a capability where they do not agree, and what contradicts.

use super::budget::PageBlock;
use super::escape::{code, text};
use super::tables::{cells, head};
use crate::claims::{CapabilityClaim, ClaimRow, ClaimStanding, table};
use crate::matrix::Matrix;
use crate::sentences::{claim_counts, over_claim_lines};

/// The section; nothing where nothing is claimed and nothing asked about.
pub(super) fn block(matrix: &Matrix<'_>) -> PageBlock {
    let table = table(matrix);
    if table.is_empty() {
        return PageBlock::fixed(String::new());
    }
    let mut page = "### Claims against results\n\n".to_owned();
    for (index, column) in matrix.columns.iter().enumerate() {
        let counts = match claim_counts(&table, index) {
            none if none.is_empty() => "claims nothing, and nothing was shown".to_owned(),
            some => some,
        };
        page += &format!("- {}: {counts}\n", text(&column.label));
    }
    let telling: Vec<&ClaimRow<'_>> = table.iter().filter(|row| row.is_telling()).collect();
    if !telling.is_empty() {
        page += "\n";
        page += &head(matrix, "capability");
        for row in telling {
            page += &cells(&code(row.capability), row.cells.iter().map(|c| cell(c.as_ref())));
        }
    }
    let over = over_claim_lines(matrix, &table);
    if !over.is_empty() {
        page += "\n";
        page.extend(over.iter().map(|line| format!("- {}\n", text(line))));
    }
    PageBlock::fixed(page + "\n")
}

fn cell(cell: Option<&(CapabilityClaim<'_>, ClaimStanding)>) -> String {
    let Some((claim, standing)) = cell else { return "-".to_owned() };
    let shown = format!("{} {}", text(claim.level), claim.share);
    match (standing, standing.standing_label()) {
        (_, "") | (ClaimStanding::Confirmed, _) => shown,
        (ClaimStanding::Over, words) => format!("{shown} **{words}**"),
        (_, words) => format!("{shown} {words}"),
    }
}
