//! Claims against results: a line a capability, and what contradicts a claim.

use super::TerminalPage;
use super::grid::{ColumnGrid, GridCell};
use crate::claims::{CapabilityClaim, ClaimRow, ClaimStanding, table};
use crate::sentences::{claim_counts, over_claim_lines};
use crate::text::{clean, wrap};
use crate::verdict::Verdict;

impl TerminalPage<'_> {
    /// Every capability where claim and results do not agree; all of them where all is listed.
    pub(super) fn claims(&self) -> String {
        let table = table(self.matrix);
        let shown: Vec<&ClaimRow<'_>> =
            table.iter().filter(|row| self.verbose || row.is_telling()).collect();
        let counts: Vec<String> = (0..self.matrix.columns.len())
            .map(|column| (column, claim_counts(&table, column)))
            .filter(|(_, counts)| !counts.is_empty())
            .flat_map(|(column, counts)| {
                self.hanging(&format!("{}: {counts}", self.matrix.columns[column].label))
            })
            .collect();
        if counts.is_empty() {
            return String::new();
        }
        let over = over_claim_lines(self.matrix, &table);
        let over: Vec<String> = over.iter().flat_map(|line| self.hanging(line)).collect();
        let lines = |lines: &[String]| lines.iter().map(|l| format!("{l}\n")).collect::<String>();
        let heading = self.paint.heading("claims against results");
        format!("{heading}\n{}{}{}", lines(&counts), self.claim_grid(&shown), lines(&over))
    }

    fn claim_grid(&self, shown: &[&ClaimRow<'_>]) -> String {
        if shown.is_empty() {
            return String::new();
        }
        let cells = shown.iter().flat_map(|row| row.cells.iter().flatten());
        let widest = cells
            .map(|(claim, standing)| share_and_standing(claim, *standing).chars().count())
            .max();
        let mut out = String::new();
        for grid in &ColumnGrid::blocks_of(self, 0, widest.unwrap_or(0)) {
            out += &grid.head("capability");
            for row in shown {
                out += &grid.row(&clean(row.capability), |column| cell(row.cells[column].as_ref()));
            }
        }
        let legend = wrap(&legend(shown), self.width);
        out.extend(legend.iter().map(|line| format!("{}\n", self.paint.dim(line))));
        out
    }
}

fn cell(cell: Option<&(CapabilityClaim<'_>, ClaimStanding)>) -> GridCell {
    let Some((claim, standing)) = cell else { return GridCell::plain("-".to_owned()) };
    let verdict = match standing {
        ClaimStanding::Over => Some(Verdict::UnderBlock),
        ClaimStanding::Confirmed => Some(Verdict::Pass),
        ClaimStanding::Under | ClaimStanding::Works | ClaimStanding::Unmeasured => {
            Some(Verdict::Inconclusive)
        }
        ClaimStanding::Absent => None,
    };
    GridCell { text: share_and_standing(claim, *standing), verdict }
}

/// Renders the share and a short word for the standing.
fn share_and_standing(claim: &CapabilityClaim<'_>, standing: ClaimStanding) -> String {
    format!("{} {}", claim.share, short(standing)).trim_end().to_owned()
}

fn short(standing: ClaimStanding) -> &'static str {
    match standing {
        ClaimStanding::Over => "OVER",
        ClaimStanding::Under => "under",
        ClaimStanding::Works => "works",
        ClaimStanding::Unmeasured => "?",
        ClaimStanding::Confirmed => "ok",
        ClaimStanding::Absent => "",
    }
}

/// The short words in use, spelt out.
fn legend(shown: &[&ClaimRow<'_>]) -> String {
    let used = |standing: ClaimStanding| {
        shown.iter().any(|row| row.cells.iter().flatten().any(|(_, found)| *found == standing))
    };
    let told = ClaimStanding::ALL.into_iter().filter(|s| !short(*s).is_empty() && used(*s));
    let words: Vec<String> =
        told.map(|standing| format!("{}: {}", short(standing), standing.meaning())).collect();
    words.join("; ")
}
