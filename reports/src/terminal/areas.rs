//! The matrix: a line an area, and under it every case to look at; the others are folded into
//! the area's counts.

use super::TerminalPage;
use super::grid::{ColumnGrid, GridCell};
use super::paint::{mark, short_word};
use crate::conformance::PassedShare;
use crate::findings::FindingKind;
use crate::matrix::{AreaSection, MatrixRow};
use crate::record::CaseRow;
use crate::text::{clean, wrap};
use crate::verdict::{Outcome, Verdict};

impl TerminalPage<'_> {
    pub(super) fn areas(&self) -> String {
        let longest = self.shown_rows().map(|row| row.id.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for grid in &ColumnGrid::blocks(self, longest) {
            out += &grid.head("cases");
            for section in &self.matrix.sections {
                out += &self.section(grid, section);
            }
            out.push('\n');
        }
        out + &self.legend()
    }

    fn section(&self, grid: &ColumnGrid<'_>, section: &AreaSection<'_>) -> String {
        let mut out = grid.sum(&clean(section.area), |column| {
            let share: PassedShare =
                section.rows.iter().filter_map(|row| row.cells[column]).collect();
            GridCell::plain(share.to_string())
        });
        for row in section.rows.iter().filter(|row| self.verbose || is_shown(row)) {
            out += &grid.row(&clean(row.id), |column| cell(row.cells[column]));
        }
        out
    }

    /// The short words in use, spelt out.
    fn legend(&self) -> String {
        let mut words = vec!["areas: passed/judged, +N not judged".to_owned()];
        let cells: Vec<&CaseRow> =
            self.shown_rows().flat_map(|row| row.cells.iter().copied().flatten()).collect();
        let shows = |is: fn(&CaseRow) -> bool| cells.iter().any(|row| is(row));
        for verdict in Verdict::ALL.into_iter().filter(|v| short_word(*v) != v.keyword()) {
            if cells.iter().any(|row| row.verdict == verdict) {
                words.push(format!("{}: {verdict}", short_word(verdict)));
            }
        }
        if shows(|row| row.outcome == Outcome::Xfail) {
            words.push("*: known failure".to_owned());
        }
        if shows(|row| row.outcome == Outcome::Xpass) {
            words.push("pass!: known failure that passes".to_owned());
        }
        if shows(|row| row.outcome == Outcome::Flaky) {
            words.push("~: passed on another try".to_owned());
        }
        if self.shown_rows().any(|row| row.cells.contains(&None)) {
            words.push("-: not selected".to_owned());
        }
        let lines = wrap(&words.join("; "), self.width);
        lines.iter().map(|line| format!("{}\n", self.paint.dim(line))).collect()
    }

    /// The cases with a line of their own.
    fn shown_rows(&self) -> impl Iterator<Item = &MatrixRow<'_>> {
        let rows = self.matrix.sections.iter().flat_map(|section| &section.rows);
        rows.filter(|row| self.verbose || is_shown(row))
    }
}

fn is_shown(row: &MatrixRow<'_>) -> bool {
    row.cells.iter().flatten().any(|row| FindingKind::from_row(row).is_some())
}

fn cell(row: Option<&CaseRow>) -> GridCell {
    row.map_or_else(
        || GridCell::plain("-".to_owned()),
        |row| GridCell {
            text: format!("{}{}", short_word(row.verdict), mark(row)),
            verdict: Some(row.verdict),
        },
    )
}
