//! The matrix as one offline HTML file ([`render`]): a table that reads without scripts, and with
//! them filters, a keyboard grid and a panel a cell. Foreign text is escaped; the page's own
//! Content-Security-Policy forbids the network and every script and style but its own.

mod assets;
mod claims;
mod conformance;
pub(crate) mod coverage;
mod data;
mod escape;
mod filters;
mod findings;
mod gaps;
mod grid;
mod head;
mod intern;
mod provenance;
pub mod site;
mod tables;
mod timing;
mod totals;
mod verdict_labels;

use crate::matrix::Matrix;
use crate::timing::TimingRecord;

/// Renders the matrix as one HTML document that needs no other file.
#[must_use]
pub fn render(matrix: &Matrix<'_>) -> String {
    render_with_timing(matrix, &[])
}

/// Renders the matrix with timing records beside it.
#[must_use]
pub fn render_with_timing(matrix: &Matrix<'_>, records: &[TimingRecord]) -> String {
    let style = assets::style(matrix, !records.is_empty());
    let parts = [
        head::document(matrix, &style),
        head::banner(matrix, !records.is_empty()),
        totals::section(matrix),
        filters::form(matrix),
        grid::table(matrix),
        conformance::section(matrix),
        timing::section(records),
        gaps::profiles(matrix),
        claims::section(matrix),
        gaps::section(matrix),
        findings::section(matrix),
        provenance::section(matrix),
        format!("</main>\n{PANEL}"),
        format!(
            "<script id=\"data\" type=\"application/json\">{}</script>\n",
            escape::json(&data::page_data(matrix))
        ),
        format!("<script>{}</script>\n</body>\n</html>\n", assets::SCRIPT),
    ];
    parts.concat()
}

/// The dialog in which the script shows one cell.
const PANEL: &str = "<dialog id=\"panel\" aria-labelledby=\"panel-title\"></dialog>\n";
