//! The Test Anything Protocol, version 14 ([`render`]): one test point a row and column.

use serde_json::json;

use crate::matrix::Matrix;
use crate::record::CaseRow;
use crate::row_reading::{RowReading, headline};
use crate::text::{clean, earlier_words, excerpt};

/// The most characters of a text in a diagnostic.
const LIMIT: usize = 2048;

/// Renders the matrix as one stream.
#[must_use]
pub fn render(matrix: &Matrix<'_>) -> String {
    let mut out = format!("TAP version 14\n1..{}\n", matrix.rows().count());
    let mut number = 0;
    for (index, column) in matrix.columns.iter().enumerate() {
        for row in matrix.rows_of(index) {
            number += 1;
            let name = description(&format!("{}: {}", column.label, row.id));
            let (result, directive) = match RowReading::from_row(row, column.header) {
                RowReading::Passed => ("ok", String::new()),
                RowReading::Failed | RowReading::Unlearnt => ("not ok", String::new()),
                RowReading::Excused(why) => ("not ok", format!(" # TODO {}", description(&why))),
                RowReading::NotRun(why) => ("ok", format!(" # SKIP {}", description(&why))),
            };
            out += &format!("{result} {number} - {name}{directive}\n");
            if result == "not ok" || row.is_flaky() {
                out += &diagnostic(row);
            }
        }
    }
    for sentence in &matrix.interrupted {
        out += &format!("Bail out! {}\n", clean(sentence));
    }
    out
}

/// A YAML block; JSON strings are YAML.
fn diagnostic(row: &CaseRow) -> String {
    let line = |(name, text): (&str, &str)| format!("  {name}: {}\n", json!(excerpt(text, LIMIT)));
    let headline = headline(row);
    let earlier = row.earlier.iter().map(earlier_words).collect::<Vec<_>>().join("; ");
    let facts = [
        ("verdict", headline.as_str()),
        ("level", row.level.keyword()),
        ("message", &row.message),
        ("earlier", &earlier),
        ("again", row.reproduce.as_deref().unwrap_or_default()),
    ];
    let facts: String = facts.into_iter().filter(|(_, text)| !text.is_empty()).map(line).collect();
    format!("  ---\n{facts}  ...\n")
}

/// `text` on one line, in which nothing begins a directive.
fn description(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('#', "\\#")
}
