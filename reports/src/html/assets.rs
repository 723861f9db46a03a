//! Script and style of the page, from `assets/`, and the policy that lets nothing else run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::escape::css;
use crate::matrix::Matrix;

/// The script: plain text nodes only, no evaluation, no markup from data.
pub(super) const SCRIPT: &str = concat!(
    "\n",
    include_str!("assets/data.js"),
    include_str!("assets/state.js"),
    include_str!("assets/rows.js"),
    include_str!("assets/filter.js"),
    include_str!("assets/grid.js"),
    include_str!("assets/arms.js"),
    include_str!("assets/panel.js"),
    include_str!("assets/main.js"),
);

const STYLE: &str = concat!(
    "\n",
    include_str!("assets/colors.css"),
    include_str!("assets/page.css"),
    include_str!("assets/grid.css"),
    include_str!("assets/panel.css"),
);

/// For pages with plots.
const TIMING: &str = include_str!("assets/timing.css");

/// Last, so that it prevails.
const PRINT: &str = include_str!("assets/print.css");

/// The style sheet; on a narrow page each cell is headed by its column, as the head row is not
/// shown there.
pub(super) fn style(matrix: &Matrix<'_>, has_timing: bool) -> String {
    let rule = |(index, label): (usize, &str)| {
        let (place, label) = (index + 2, css(label));
        format!("  .matrix tr.case td:nth-child({place})::before, ")
            + &format!(".matrix tr.area td:nth-child({place})::before {{ content: {label}; }}\n")
    };
    let labels = matrix.columns.iter().map(|column| column.label.as_str());
    let rules: String = labels.enumerate().map(rule).collect();
    let timing = if has_timing { TIMING } else { "" };
    format!("{STYLE}{timing}@media (max-width: 40rem) {{\n{rules}}}\n{PRINT}")
}

/// The style sheet of the static site.
pub(super) fn site_style() -> String {
    format!("{STYLE}{}{PRINT}", include_str!("assets/site.css"))
}

/// Only this style and the site's own pictures; no script, and no network.
pub(super) fn site_policy(style: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; img-src 'self' data:; base-uri 'none'; form-action \
         'none'",
        hash(style)
    )
}

/// Only this style and this script, and no network.
pub(super) fn policy(style: &str) -> String {
    let (style, script) = (hash(style), hash(SCRIPT));
    format!(
        "default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
