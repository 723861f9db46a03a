//! The tail of a page: conformance, gaps, totals.

use super::TerminalPage;
use super::grid::{ColumnGrid, GridCell};
use crate::conformance::PassedShare;
use crate::record::{CaseRow, Level};
use crate::scope::scope_lines;
use crate::sentences::{blind_lines, gap_lines, outcome_line, profile_lines};
use crate::stress::stress_lines;
use crate::summary::summary_line;
use crate::text::{clean, wrap};

impl TerminalPage<'_> {
    /// Passed of judged, per level and area.
    pub(super) fn conformance(&self) -> String {
        let mut out = self.paint.heading("conformance") + ": passed/judged, +N not judged\n";
        for grid in &ColumnGrid::blocks(self, 0) {
            for level in Level::ALL {
                out += &self.level(grid, level);
            }
        }
        out
    }

    fn level(&self, grid: &ColumnGrid<'_>, level: Level) -> String {
        if !self.matrix.rows().any(|row| row.level == level) {
            return String::new();
        }
        let mut out = grid.head(level.keyword());
        for section in &self.matrix.sections {
            let cells = section.rows.iter().flat_map(|row| row.cells.iter().flatten());
            if cells.clone().any(|row| row.level == level) {
                let in_area = |row: &&CaseRow| row.level == level && row.area == section.area;
                out += &grid.row(&clean(section.area), |column| {
                    share(self.matrix.rows_of(column).filter(in_area).collect())
                });
            }
        }
        out
    }

    /// Renders the standing of each column on the profiles of the frozen set.
    pub(super) fn profiles(&self) -> String {
        let lines: Vec<String> =
            profile_lines(self.matrix).iter().flat_map(|line| self.hanging(line)).collect();
        self.titled("profiles", &lines)
    }

    /// Renders the cases that this run does not cover.
    pub(super) fn gaps(&self) -> String {
        let limits = [gap_lines(self.matrix), scope_lines(self.matrix)].concat();
        let lines: Vec<String> = limits.iter().flat_map(|line| self.hanging(line)).collect();
        self.titled("not covered by this run", &lines)
    }

    /// Renders the results of the second look.
    pub(super) fn second_look(&self) -> String {
        let lines = blind_lines(self.matrix, self.verbose);
        let lines: Vec<String> = lines.iter().flat_map(|line| self.hanging(line)).collect();
        self.titled("second look, with ordinary names and programs", &lines)
    }

    /// Renders the rates of cases that were repeated.
    pub(super) fn repetitions(&self) -> String {
        let lines = stress_lines(self.matrix);
        let lines: Vec<String> = lines.iter().flat_map(|line| self.hanging(line)).collect();
        self.titled("repetitions", &lines)
    }

    /// Totals a column, and the summary line.
    pub(super) fn totals(&self) -> String {
        let mut lines = Vec::new();
        if self.matrix.columns.len() > 1 {
            for (index, column) in self.matrix.columns.iter().enumerate() {
                let line = summary_line(self.matrix.rows_of(index));
                lines.extend(self.hanging(&format!("{}: {line}", column.label)));
            }
        }
        lines.extend(outcome_line(self.matrix).iter().flat_map(|line| self.hanging(line)));
        let totals = match self.titled("totals", &lines) {
            none if none.is_empty() => none,
            some => some + "\n",
        };
        format!("{totals}{}\n", summary_line(self.matrix.rows()))
    }

    /// `text` wrapped, every line but the first indented further.
    pub(super) fn hanging(&self, text: &str) -> Vec<String> {
        let lines = wrap(&clean(text), self.width - 6);
        let indent = |i: usize| if i == 0 { 2 } else { 6 };
        lines.iter().enumerate().map(|(i, l)| format!("{:1$}{l}", "", indent(i))).collect()
    }

    pub(super) fn titled(&self, title: &str, lines: &[String]) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        format!("{}\n{body}", self.paint.heading(title))
    }
}

fn share(share: PassedShare) -> GridCell {
    GridCell::plain(share.to_string())
}
