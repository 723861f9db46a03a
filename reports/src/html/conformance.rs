//! Conformance per level and area: never one number.

use super::escape::text;
use super::head::levels;
use super::tables::{FigureTable, link, share_class};
use crate::conformance::PassedShare;
use crate::matrix::{AreaSection, Matrix};
use crate::record::{CaseRow, Level};

/// A table a level.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let tables: String = levels(matrix).map(|level| table(matrix, level)).collect();
    format!(
        "<section id=\"conformance\">\n<h2>Conformance</h2>\n<p class=\"soft\">Passed of judged, \
         by level and area; +n of which nothing was learnt.</p>\n{tables}</section>\n"
    )
}

fn table(matrix: &Matrix<'_>, level: Level) -> String {
    let name = format!("conformance at level {}", level.keyword());
    let mut table = FigureTable::new(matrix, &name, level.keyword());
    for section in &matrix.sections {
        let rows: Vec<Vec<&CaseRow>> =
            (0..matrix.columns.len()).map(|column| rows(section, column, level)).collect();
        if rows.iter().any(|rows| !rows.is_empty()) {
            let cells = matrix.columns.iter().zip(rows).map(|(column, rows)| {
                cell(section.area, level, &column.label, rows.into_iter().collect())
            });
            table.row(&text(section.area), cells);
        }
    }
    table.end()
}

fn rows<'a>(section: &AreaSection<'a>, column: usize, level: Level) -> Vec<&'a CaseRow> {
    let rows = section.rows.iter().filter_map(|row| row.cells[column]);
    rows.filter(|row| row.level == level).collect()
}

fn cell(area: &str, level: Level, label: &str, share: PassedShare) -> String {
    if share == PassedShare::default() {
        return format!("<td class=\"nil\">{share}</td>");
    }
    let filters = [("area", area), ("level", level.keyword()), ("backend", label)];
    link(share_class(share), &filters, &share.to_string())
}
