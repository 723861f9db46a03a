//! JUnit XML ([`render`]): one suite a column, one test case a row.
//!
//! Written by hand for the schema that most consumers share: it has no `disabled` and no `skipped`
//! where other writers put them.

use std::fmt::Write;

use crate::findings::{Finding, FindingKind};
use crate::matrix::{Matrix, MatrixColumn};
use crate::record::{CaseRow, EarlierTry};
use crate::row_reading::{RowReading, headline};
use crate::terminal::finding_text;
use crate::text::{earlier_words, excerpt, shorten};

/// The most characters of the text of one failure.
const TEXT_LIMIT: usize = 16_384;
/// The most characters of an attribute.
const ATTRIBUTE_LIMIT: usize = 1024;

/// Renders the matrix as one document.
#[must_use]
pub fn render(matrix: &Matrix<'_>) -> String {
    let mut suites = String::new();
    let mut all = SuiteCounts::default();
    for (index, column) in matrix.columns.iter().enumerate() {
        let (text, counts) = suite(matrix, index, column);
        suites += &text;
        all.add(&counts);
    }
    for sentence in &matrix.interrupted {
        suites += &cut_short(sentence);
        all.add(&SuiteCounts { tests: 1, errors: 1, ..SuiteCounts::default() });
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"boxproof\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">\n\
         {suites}</testsuites>\n",
        all.tests,
        all.failures,
        all.errors,
        seconds(all.duration_ms)
    )
}

#[derive(Default)]
struct SuiteCounts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    duration_ms: f64,
}

impl SuiteCounts {
    fn add(&mut self, other: &Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.duration_ms += other.duration_ms;
    }
}

fn suite(matrix: &Matrix<'_>, index: usize, column: &MatrixColumn<'_>) -> (String, SuiteCounts) {
    let mut counts = SuiteCounts::default();
    let mut cases = String::new();
    for row in matrix.rows_of(index) {
        let reading = RowReading::from_row(row, column.header);
        counts.add(&SuiteCounts {
            tests: 1,
            failures: u64::from(reading == RowReading::Failed),
            errors: u64::from(reading == RowReading::Unlearnt),
            skipped: u64::from(matches!(reading, RowReading::Excused(_) | RowReading::NotRun(_))),
            duration_ms: row.duration_ms,
        });
        cases += &test_case(matrix, Finding { column: index, row }, &reading);
    }
    let header = column.header;
    let text = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" \
         time=\"{}\" timestamp=\"{}\">\n    <properties>\n{}    </properties>\n{cases}  </testsuite>\n",
        attribute(&column.label),
        counts.tests,
        counts.failures,
        counts.errors,
        counts.skipped,
        seconds(counts.duration_ms),
        attribute(header.started.trim_end_matches('Z')),
        properties(column),
    );
    (text, counts)
}

/// A suite for what is missing of a run.
fn cut_short(sentence: &str) -> String {
    format!(
        "  <testsuite name=\"the whole run\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
         <testcase name=\"the run came to its end\" classname=\"boxproof\">\n      \
         <error type=\"interrupted\" message=\"{}\"/>\n    </testcase>\n  </testsuite>\n",
        attribute(sentence)
    )
}

fn properties(column: &MatrixColumn<'_>) -> String {
    let (backend, header) = (column.backend, column.header);
    let facts = [
        ("backend", backend.name.as_str()),
        ("backend.version", &backend.version),
        ("backend.sha256", &backend.sha256),
        ("corpus.version", &header.corpus.version),
        ("corpus.sha256", &header.corpus.sha256),
        ("user", header.user.kind.keyword()),
    ];
    let line = |(name, value): (&str, &str)| {
        format!("      <property name=\"{name}\" value=\"{}\"/>\n", attribute(value))
    };
    facts.into_iter().map(line).collect()
}

fn test_case(matrix: &Matrix<'_>, finding: Finding<'_>, reading: &RowReading) -> String {
    let row = finding.row;
    let class = format!("{}.{}", matrix.columns[finding.column].label, row.area);
    let head = format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{}\"",
        attribute(&row.id),
        attribute(&class),
        seconds(row.duration_ms)
    );
    let body = match reading {
        RowReading::Passed if row.is_flaky() => earlier(row),
        RowReading::Passed => return head + "/>\n",
        RowReading::Failed => element("failure", row, &text_of(matrix, finding)),
        RowReading::Unlearnt => element("error", row, &text_of(matrix, finding)),
        RowReading::Excused(why) | RowReading::NotRun(why) => {
            format!("      <skipped message=\"{}\"/>\n", attribute(why))
        }
    };
    format!("{head}>\n{body}    </testcase>\n")
}

/// Renders the tries before a pass, in the elements that quick-junit and Surefire have for them.
fn earlier(row: &CaseRow) -> String {
    row.earlier.iter().filter(|earlier| earlier.verdict != row.verdict).map(rerun).collect()
}

fn rerun(earlier: &EarlierTry) -> String {
    let name = if earlier.verdict.is_failure() { "flakyFailure" } else { "flakyError" };
    let kind = format!("{} {}", earlier.verdict, earlier.reason);
    format!(
        "      <{name} type=\"{}\" message=\"{}\">{}</{name}>\n",
        attribute(kind.trim()),
        attribute(&earlier.message),
        content(&shorten(&earlier_words(earlier), TEXT_LIMIT))
    )
}

fn element(name: &str, row: &CaseRow, text: &str) -> String {
    format!(
        "      <{name} type=\"{}\" message=\"{}\">{}</{name}>\n",
        attribute(&headline(row)),
        attribute(&row.message),
        content(text)
    )
}

/// Everything that a person needs of a failure, as in the other formats.
fn text_of(matrix: &Matrix<'_>, finding: Finding<'_>) -> String {
    let text = FindingKind::from_row(finding.row).map(|kind| finding_text(matrix, kind, &finding));
    shorten(&text.unwrap_or_default(), TEXT_LIMIT)
}

fn seconds(ms: f64) -> String {
    format!("{:.3}", ms / 1000.0)
}

fn attribute(text: &str) -> String {
    content(&excerpt(text, ATTRIBUTE_LIMIT))
}

/// `text` with nothing in it that is markup, or that XML 1.0 has no way to say.
fn content(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_no_markup_and_no_forbidden_character() {
        assert_eq!(content("a]]><b \"c\" & d"), "a]]&gt;&lt;b &quot;c&quot; &amp; d");
        assert_eq!(
            content("\0\x1b\u{fffe}\u{ffff}\r\n\t\u{85}"),
            "\\u{0}\\u{1b}\\u{fffe}\\u{ffff}\\u{d}\n\t\\u{85}"
        );
        assert_eq!(attribute("a\nb"), "a\\nb");
        assert_eq!(attribute(&"x".repeat(1 << 20)).chars().count(), ATTRIBUTE_LIMIT);
    }
}
