//! Workflow commands that make a GitHub runner show findings beside the code ([`render`]).
//!
//! The one place that writes such commands on purpose: foreign text in them is escaped as the
//! runner unescapes it, so that it can neither end a command nor begin one.

use std::collections::BTreeMap;

use crate::findings::FindingKind;
use crate::matrix::Matrix;
use crate::record::CaseRow;
use crate::row_reading::{RowReading, case_path, headline, is_built_in};
use crate::text::{clean, inert, shorten};

/// The number of annotations of one type that GitHub shows of a step.
const SHOWN: usize = 10;
/// The most characters of a message; the runner cuts at 4096.
const LIMIT: usize = 2000;

/// The commands, a line each: at most ten errors, ten warnings and one notice. A list that is
/// longer ends with how many more there are. A finding on a case that is built in is shown at the
/// file that `manifests` has for its backend, if it has one.
#[must_use]
pub fn render(matrix: &Matrix<'_>, manifests: &BTreeMap<String, String>) -> String {
    let mut found: BTreeMap<&str, Vec<(&CaseRow, String)>> = BTreeMap::new();
    for (index, column) in matrix.columns.iter().enumerate() {
        for row in matrix.rows_of(index) {
            let command = match RowReading::from_row(row, column.header) {
                RowReading::Failed => "error",
                RowReading::Unlearnt => "warning",
                RowReading::Excused(_)
                    if FindingKind::from_row(row) == Some(FindingKind::Failure) =>
                {
                    "warning"
                }
                _ => continue,
            };
            let title = format!("{}: {}", column.label, row.id);
            let text = format!("{}: {}\n{}", headline(row), row.message, row.purpose);
            let manifest = manifests.get(&row.backend).filter(|_| is_built_in(column.header));
            let file = manifest.cloned().unwrap_or_else(|| case_path(column.header, row));
            let file = property(&file);
            let line =
                format!("::{command} file={file},title={}::{}\n", property(&title), data(&text));
            found.entry(command).or_default().push((row, line));
        }
    }
    found.into_iter().map(|(command, lines)| limited(command, lines)).collect()
}

fn limited(command: &str, mut lines: Vec<(&CaseRow, String)>) -> String {
    lines.sort_by_key(|(row, _)| row.level);
    let more = match lines.len() {
        few if few <= SHOWN => None,
        many => Some(many - (SHOWN - 1)),
    };
    lines.truncate(if more.is_some() { SHOWN - 1 } else { SHOWN });
    let mut out: String = lines.into_iter().map(|(_, line)| line).collect();
    if let Some(more) = more {
        out += &format!("::{command} title=boxproof::{more} more are in the run record\n");
    }
    out
}

/// A message: `%`, CR and LF as the runner writes them, and nothing that an older runner obeys.
fn data(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(clean).collect();
    let text = shorten(&inert(&lines.join("\n")), LIMIT);
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property, which a colon or comma would end.
fn property(text: &str) -> String {
    data(&clean(text)).replace(':', "%3A").replace(',', "%2C")
}
