//! Tables with a column a backend ([`FigureTable`]), and links into the filtered matrix ([`link`]).

use super::escape::{query, text};
use crate::conformance::PassedShare;
use crate::matrix::Matrix;

/// A table of figures: one head row, then a row a thing, a cell a backend.
pub(super) struct FigureTable(String);

impl FigureTable {
    /// Starts a table; `first` heads the first column, `name` says what it is to readers who
    /// cannot see it.
    pub(super) fn new(matrix: &Matrix<'_>, name: &str, first: &str) -> Self {
        let name = text(name);
        let mut out = format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{name}\">\n\
             <table class=\"figures\"><thead><tr><th scope=\"col\">{}</th>",
            text(first)
        );
        for column in &matrix.columns {
            out += &format!("<th scope=\"col\">{}</th>", text(&column.label));
        }
        Self(out + "</tr></thead>\n<tbody>\n")
    }

    /// Adds a row of cells that are markup already; `head` is, too.
    pub(super) fn row(&mut self, head: &str, cells: impl Iterator<Item = String>) {
        self.0 += &format!("<tr><th scope=\"row\">{head}</th>");
        self.0.extend(cells);
        self.0 += "</tr>\n";
    }

    /// Ends the table.
    pub(super) fn end(self) -> String {
        self.0 + "</tbody></table></div>\n"
    }
}

/// A cell that opens the matrix under `filters`.
pub(super) fn link(class: &str, filters: &[(&str, &str)], words: &str) -> String {
    format!("<td class=\"{class}\"><a href=\"{}\">{words}</a></td>", address(filters))
}

/// The address of the matrix under `filters`.
pub(super) fn address(filters: &[(&str, &str)]) -> String {
    let pair = |(key, value): &(&str, &str)| format!("{key}={}", query(value));
    format!("#{}", filters.iter().map(pair).collect::<Vec<_>>().join("&amp;"))
}

/// Returns the style class of a share, next to its figures.
pub(super) fn share_class(share: PassedShare) -> &'static str {
    match share {
        PassedShare { judged: 0, .. } => "nil",
        PassedShare { passed, judged, .. } if passed == judged => "full",
        PassedShare { .. } => "part",
    }
}
