//! A table of one label and several narrow cells a line ([`ColumnGrid`]), split into blocks of
//! columns when not all of them fit.

use super::TerminalPage;
use crate::verdict::Verdict;

/// Space between columns.
const GAP: usize = 2;
/// Space before a row's label.
pub(super) const INDENT: usize = 2;
/// The least room for labels.
const LABEL_MIN: usize = 30;
/// The least room for a cell.
const CELL_MIN: usize = 8;
/// The widest column head; longer names become numbers.
const HEAD_MAX: usize = 16;

/// One cell: its text, and whose colour it has.
pub(super) struct GridCell {
    pub(super) text: String,
    pub(super) verdict: Option<Verdict>,
}

impl GridCell {
    pub(super) fn plain(text: String) -> Self {
        Self { text, verdict: None }
    }
}

/// The layout of the columns from `first` on, as many as fit.
pub(super) struct ColumnGrid<'a> {
    page: &'a TerminalPage<'a>,
    first: usize,
    heads: Vec<String>,
    cell: usize,
    label: usize,
}

impl<'a> ColumnGrid<'a> {
    /// One or more grids that together show every column, for labels of at most `longest`.
    pub(super) fn blocks(page: &'a TerminalPage<'a>, longest: usize) -> Vec<Self> {
        Self::blocks_of(page, longest, CELL_MIN)
    }

    /// Builds blocks for cells of at most `cell`.
    pub(super) fn blocks_of(page: &'a TerminalPage<'a>, longest: usize, cell: usize) -> Vec<Self> {
        let count = page.matrix.columns.len();
        let heads: Vec<String> = (0..count).map(|column| page.column_head(column)).collect();
        let widest = heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
        let cell = widest.max(cell);
        let fit = ((page.width - INDENT - LABEL_MIN) / (cell + GAP)).max(1);
        (0..count)
            .step_by(fit)
            .map(|first| {
                let heads: Vec<String> = heads.iter().skip(first).take(fit).cloned().collect();
                let room = page.width - INDENT - heads.len() * (cell + GAP);
                let label = room.min(longest.max(LABEL_MIN));
                Self { page, first, heads, cell, label }
            })
            .collect()
    }

    /// A line of column heads under a heading.
    pub(super) fn head(&self, heading: &str) -> String {
        let room = self.label + INDENT;
        let heading = self.page.paint.heading(&pad(heading, room));
        let heads = self.heads.iter().map(|head| format!("{:GAP$}{}", "", pad(head, self.cell)));
        line(&(heading + &heads.collect::<String>()))
    }

    /// A row that sums up the rows below it.
    pub(super) fn sum(&self, label: &str, cell_of: impl Fn(usize) -> GridCell) -> String {
        let label = self.page.paint.heading(&pad(label, self.label + INDENT));
        line(&(label + &self.cells(cell_of)))
    }

    /// A row: its label, and the cells of this block's columns. A label that does not fit stays
    /// whole, on a line of its own.
    pub(super) fn row(&self, label: &str, cell_of: impl Fn(usize) -> GridCell) -> String {
        let cells = self.cells(cell_of);
        if label.chars().count() <= self.label {
            line(&format!("{:INDENT$}{}{cells}", "", pad(label, self.label)))
        } else {
            let room = self.label;
            format!("{:INDENT$}{label}\n", "")
                + &line(&format!("{:INDENT$}{:room$}{cells}", "", ""))
        }
    }

    fn cells(&self, cell_of: impl Fn(usize) -> GridCell) -> String {
        (self.first..self.first + self.heads.len())
            .map(|column| format!("{:GAP$}{}", "", self.paint(&cell_of(column))))
            .collect()
    }

    fn paint(&self, cell: &GridCell) -> String {
        let text = pad(&cell.text, self.cell);
        let word = text.trim_end();
        let space = &text[word.len()..];
        match cell.verdict {
            Some(verdict) => self.page.paint.verdict(word, verdict) + space,
            None => text.clone(),
        }
    }
}

impl TerminalPage<'_> {
    /// A column's label where all of them fit, else its number in the list of backends.
    pub(super) fn column_head(&self, column: usize) -> String {
        let columns = &self.matrix.columns;
        let longest = columns.iter().map(|c| c.label.chars().count()).max().unwrap_or(0);
        let room = INDENT + LABEL_MIN + columns.len() * (longest.max(CELL_MIN) + GAP);
        if longest <= HEAD_MAX && room <= self.width {
            crate::text::clean(&columns[column].label)
        } else {
            format!("[{}]", column + 1)
        }
    }
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:width$}")
}

fn line(text: &str) -> String {
    format!("{}\n", text.trim_end())
}
