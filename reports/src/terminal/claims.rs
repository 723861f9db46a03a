//! Claims against results: a line a capability, and what contradicts a claim.

use super::Page;
use super::grid::{Cell, Grid};
use crate::claims::{Claim, ClaimRow, Standing, table};
use crate::sentences::{claim_counts, over_claim_lines};
use crate::text::{clean, wrap};
use crate::verdict::Verdict;

impl Page<'_> {
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
        let widest = cells.map(|(claim, standing)| words(claim, *standing).chars().count()).max();
        let mut out = String::new();
        for grid in &Grid::blocks_of(self, 0, widest.unwrap_or(0)) {
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

fn cell(cell: Option<&(Claim<'_>, Standing)>) -> Cell {
    let Some((claim, standing)) = cell else { return Cell::plain("-".to_owned()) };
    let verdict = match standing {
        Standing::Over => Some(Verdict::UnderBlock),
        Standing::Confirmed => Some(Verdict::Pass),
        Standing::Under | Standing::Works | Standing::Unmeasured => Some(Verdict::Inconclusive),
        Standing::Absent => None,
    };
    Cell { text: words(claim, *standing), verdict }
}

/// Renders the share and a short word for the standing.
fn words(claim: &Claim<'_>, standing: Standing) -> String {
    format!("{} {}", claim.share, short(standing)).trim_end().to_owned()
}

fn short(standing: Standing) -> &'static str {
    match standing {
        Standing::Over => "OVER",
        Standing::Under => "under",
        Standing::Works => "works",
        Standing::Unmeasured => "?",
        Standing::Confirmed => "ok",
        Standing::Absent => "",
    }
}

/// The short words in use, spelt out.
fn legend(shown: &[&ClaimRow<'_>]) -> String {
    let used = |standing: Standing| {
        shown.iter().any(|row| row.cells.iter().flatten().any(|(_, found)| *found == standing))
    };
    let told = Standing::ALL.into_iter().filter(|s| !short(*s).is_empty() && used(*s));
    let words: Vec<String> =
        told.map(|standing| format!("{}: {}", short(standing), standing.meaning())).collect();
    words.join("; ")
}
