//! The matrix for a terminal: place and subject of the run, one section an area, findings in
//! detail, conformance, claims, gaps, and the summary line last ([`render`]).

mod areas;
mod claims;
mod detail;
mod grid;
mod head;
mod paint;
mod tail;

use crate::findings::{Finding, FindingKind};
use crate::matrix::Matrix;
use crate::text::inert;

use paint::Paint;

/// The use of escape sequences; the caller knows about pipes and `NO_COLOR`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    #[default]
    Plain,
    /// Output with colours.
    Color,
}

/// The options of rendering for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// The use of escape sequences.
    pub style: Style,
    /// The terminal's width in characters; at least 60 are used.
    pub width: usize,
    /// List every case, not only those to look at.
    pub verbose: bool,
    /// The detail of failures.
    pub failures: FailureVerbosity,
}

/// The detail in which failures are reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailureVerbosity {
    /// A line a group of those that are alike.
    Brief,
    /// Everything, row by row.
    #[default]
    Full,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self { style: Style::Plain, width: 80, verbose: false, failures: FailureVerbosity::Full }
    }
}

/// The narrowest page that still holds a table.
const MIN_WIDTH: usize = 60;
/// The width of a quoted finding.
const QUOTE_WIDTH: usize = 100;

/// The state that the parts of a page share.
struct TerminalPage<'a> {
    matrix: &'a Matrix<'a>,
    paint: Paint,
    width: usize,
    verbose: bool,
    failures: FailureVerbosity,
}

/// One finding as plain text, for formats that quote it.
pub(crate) fn finding_text(
    matrix: &Matrix<'_>,
    kind: FindingKind,
    finding: &Finding<'_>,
) -> String {
    let paint = Paint(Style::Plain);
    let (width, failures) = (QUOTE_WIDTH, FailureVerbosity::Full);
    inert(&TerminalPage { matrix, paint, width, verbose: true, failures }.finding(kind, finding))
}

/// Renders the matrix; ends with the summary line and a newline.
#[must_use]
pub fn render(matrix: &Matrix<'_>, options: TerminalOptions) -> String {
    let page = TerminalPage {
        matrix,
        paint: Paint(options.style),
        width: options.width.max(MIN_WIDTH),
        verbose: options.verbose,
        failures: options.failures,
    };
    let parts = [
        page.head(),
        page.areas(),
        page.findings(),
        page.conformance(),
        page.profiles(),
        page.claims(),
        page.gaps(),
        page.second_look(),
        page.repetitions(),
        page.totals(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    inert(&parts.join("\n"))
}
