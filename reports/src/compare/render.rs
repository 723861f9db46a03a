//! The comparison as plain text.

use std::fmt::Write as _;

use super::{AgreementStatus, ComparedBackend, Comparison, ComparisonLine, LEGEND, StatusCounts};
use crate::text::{inert, wrap};

/// The column at which the text of explanations begins.
const INDENT: usize = 17;

/// The comparison as lines of at most `width` characters where words allow it; the last line
/// counts.
#[must_use]
pub fn render(comparison: &Comparison, width: usize) -> String {
    let mut out = String::new();
    for column in &comparison.columns {
        section(&mut out, column, width);
    }
    for apart in &comparison.apart {
        let _ = writeln!(out, "{apart}");
    }
    let _ = writeln!(out, "{LEGEND}\n{}", count_line(comparison.counts()));
    inert(&out)
}

/// Renders the number of lines of each status as one line.
pub(super) fn count_line(counts: StatusCounts) -> String {
    let kinds = [
        (counts.explained, "explained"),
        (counts.differ, "differ"),
        (counts.stale, "stale"),
        (counts.unlearnt, "not learnt"),
        (counts.not_asked, "not asked"),
    ];
    let rest: String = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!(", {count} {word}"))
        .collect();
    format!("{} compared: {} agree{rest}", counts.compared(), counts.agree)
}

/// Returns the word for a status, and the reason.
pub(super) fn status_words(status: &AgreementStatus) -> (&'static str, &str) {
    match status {
        AgreementStatus::Agree => ("agree", ""),
        AgreementStatus::Explained(reason) => ("explained", reason),
        AgreementStatus::Differs => ("DIFFERS", ""),
        AgreementStatus::Stale(reason) => ("STALE", reason),
        AgreementStatus::Unlearnt => ("NOT LEARNT", ""),
        AgreementStatus::NotAsked => ("not asked", ""),
    }
}

fn section(out: &mut String, column: &ComparedBackend, width: usize) {
    let ComparedBackend { measured, place, by_hand, lines } = column;
    let heading = format!("{measured}; {place}; by hand: {by_hand}");
    for line in wrap(&heading, width) {
        let _ = writeln!(out, "{line}");
    }
    for line in lines {
        entry(out, line, width);
    }
    out.push('\n');
}

fn entry(out: &mut String, line: &ComparisonLine, width: usize) {
    let (word, reason) = status_words(&line.status);
    let ComparisonLine { probe, asks, by_hand, measured, .. } = line;
    let _ = writeln!(out, "  {probe}  {word:10}  {by_hand} / {measured}: {asks}");
    for part in wrap(reason, width.saturating_sub(INDENT)) {
        let _ = writeln!(out, "{:INDENT$}{part}", "");
    }
}
