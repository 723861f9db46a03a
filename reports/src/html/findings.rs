//! Findings in detail for readers without scripts; with scripts the panel shows them instead.

use super::escape::{lines, markup, text};
use crate::findings::{FindingKind, findings};
use crate::matrix::Matrix;
use crate::terminal::finding_text;

/// The most bytes of details, for the data holds them once already.
const BUDGET: usize = 512 * 1024;

/// Each finding folded, the kinds in the order of every report.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let (mut body, mut left_out) = (String::new(), 0);
    for kind in FindingKind::ALL {
        let found = findings(matrix, kind);
        if found.is_empty() {
            continue;
        }
        body += &format!("<h3>{} ({})</h3>\n", kind.heading(), found.len());
        for finding in found {
            let (id, verdict) = (text(&finding.row.id), finding.row.verdict);
            let label = text(&matrix.columns[finding.column].label);
            let seen = markup(&lines(finding_text(matrix, kind, &finding).trim_end()));
            let detail = format!(
                "<details><summary>{id} {label}: {verdict}</summary><pre>{seen}</pre></details>\n"
            );
            match body.len() + detail.len() <= BUDGET {
                true => body += &detail,
                false => left_out += 1,
            }
        }
    }
    if left_out > 0 {
        body += &format!("<p>{left_out} more are in the run record.</p>\n");
    }
    format!(
        "<noscript>\n<section id=\"findings\">\n<h2>Findings</h2>\n<p>With scripts on, every cell \
         of the matrix opens, and the matrix can be filtered.</p>\n{body}</section>\n</noscript>\n"
    )
}
