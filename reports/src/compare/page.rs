//! The comparison as a Markdown page.

use std::fmt::Write as _;

use super::render::{count_line, status_words};
use super::{ByHand, ComparedBackend, Comparison, LEGEND};
use crate::markdown::escape::text as cell;
use crate::text::inert;

/// The whole page.
#[must_use]
pub fn page(table: &ByHand, comparison: &Comparison) -> String {
    let mut out = String::from("# Measured and made by hand\n\n");
    let _ = writeln!(out, "{}\n", table.about.trim());
    let _ = writeln!(out, "{}. {}.\n", sentence(LEGEND), count_line(comparison.counts()));
    for column in &comparison.columns {
        section(&mut out, column);
    }
    for apart in &comparison.apart {
        let _ = writeln!(out, "- {}", cell(apart));
    }
    inert(&out)
}

fn sentence(text: &str) -> String {
    text.replace("; ", ". ")
}

fn section(out: &mut String, column: &ComparedBackend) {
    let _ = writeln!(out, "## {}, {}\n", cell(&column.measured), user(&column.place));
    let _ = writeln!(out, "Measured: {}. By hand: {}.\n", cell(&column.place), column.by_hand);
    out.push_str("| probe | asks | by hand | measured | |\n|---|---|---|---|---|\n");
    for line in &column.lines {
        let (word, reason) = status_words(&line.status);
        let reason = if reason.is_empty() { String::new() } else { format!("; {reason}") };
        let texts = [&line.probe, &line.asks, &line.by_hand, &line.measured];
        let [probe, asks, by_hand, measured] = texts.map(|text| cell(text));
        let _ = writeln!(
            out,
            "| {probe} | {asks} | {by_hand} | {measured} | {word}{} |",
            cell(&reason)
        );
    }
    out.push('\n');
}

/// Returns the first word of `place`.
fn user(place: &str) -> &str {
    place.split(' ').next().unwrap_or_default()
}
