//! SARIF 2.1.0 ([`render`]), within what GitHub's code scanning takes: one run a column, one rule
//! a requirement, one result a finding, each at its case file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::findings::FindingKind;
use crate::matrix::{Matrix, MatrixColumn};
use crate::record::{CaseRow, Header, Level};
use crate::row_reading::{RowReading, case_link, case_path, headline, uri};
use crate::text::{clean, earlier_tries, excerpt};
use crate::verdict::Outcome;

/// The most runs of a file.
const RUNS: usize = 20;
/// The most results of a file.
const RESULTS: usize = 25_000;
/// The most bytes that results take, so that a file stays below 10 MB.
const RESULT_BYTES: usize = 8 << 20;
/// The most bytes that rules take.
const RULE_BYTES: usize = 1 << 20;
/// The most characters of a text.
const TEXT: usize = 1000;
/// The schema that the file names.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The tool's home page.
const HOME: &str = "https://github.com/boxproof/boxproof";

/// The reason why a matrix does not fit into one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SarifError {
    /// Code scanning refuses such a file whole.
    #[error(
        "SARIF: {0} columns, and code scanning takes at most {RUNS} runs a file; render fewer records"
    )]
    TooManyRuns(usize),
}

/// Renders the matrix as one file.
///
/// # Errors
/// More columns than a file may have runs.
pub fn render(matrix: &Matrix<'_>) -> Result<String, SarifError> {
    if matrix.columns.len() > RUNS {
        return Err(SarifError::TooManyRuns(matrix.columns.len()));
    }
    let mut room = FileRoom { results: RESULTS, bytes: RESULT_BYTES };
    let mut categories = BTreeSet::new();
    let runs: Vec<Value> = matrix
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| run(matrix, index, &category(column, &mut categories), &mut room))
        .collect();
    Ok(format!("{}\n", json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": runs })))
}

/// The room that is left in a file.
struct FileRoom {
    results: usize,
    bytes: usize,
}

impl FileRoom {
    /// Returns whether `result` still fits; if so, counts it.
    fn takes(&mut self, result: &Value) -> bool {
        let bytes = result.to_string().len();
        let fits = self.results > 0 && bytes <= self.bytes;
        if fits {
            self.results -= 1;
            self.bytes -= bytes;
        }
        fits
    }
}

/// The name under which code scanning keeps a column apart: unique in the file.
fn category(column: &MatrixColumn<'_>, taken: &mut BTreeSet<String>) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let label: String = column.label.chars().map(word).collect();
    let names = (1..).map(|number| match number {
        1 => format!("boxproof/{label}/"),
        _ => format!("boxproof/{label}-{number}/"),
    });
    let name = names.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}

fn run(matrix: &Matrix<'_>, index: usize, category: &str, room: &mut FileRoom) -> Value {
    let column = &matrix.columns[index];
    let mut rows: Vec<(&CaseRow, RowReading)> = matrix
        .rows_of(index)
        .filter(|row| FindingKind::from_row(row).is_some())
        .map(|row| (row, RowReading::from_row(row, column.header)))
        .collect();
    rows.sort_by_key(|(row, reading)| (*reading != RowReading::Failed, row.level));
    let (mut results, mut rules, mut left_out) = (Vec::new(), RunRules::default(), 0_u64);
    for (row, reading) in &rows {
        let rule = rules.rule_id(row, column.header);
        let result = result(row, column, reading, &rule);
        if room.takes(&result) { results.push(result) } else { left_out += 1 }
    }
    json!({
        "tool": { "driver": {
            "name": "boxproof",
            "version": column.header.harness,
            "informationUri": HOME,
            "rules": rules.known.into_values().collect::<Vec<_>>(),
        }},
        "automationDetails": { "id": category },
        "invocations": [{ "executionSuccessful": matrix.interrupted.is_empty() }],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {
            "backend": clean(&column.backend.name),
            "backendVersion": clean(&column.backend.version),
            "backendSha256": clean(&column.backend.sha256),
            "user": column.header.user.kind.keyword(),
            "resultsLeftOut": left_out,
        },
    })
}

/// The rules that results of one run are of.
#[derive(Default)]
struct RunRules {
    known: BTreeMap<String, Value>,
    bytes: usize,
}

impl RunRules {
    /// The id of the rule that `row` breaks: the first requirement that it cites, else its area.
    fn rule_id(&mut self, row: &CaseRow, header: &Header) -> String {
        let cited = row.requirements.first();
        let id = cited.map_or_else(|| format!("area-{}", clean(&row.area)), |id| clean(id));
        if self.known.contains_key(&id) {
            return id;
        }
        let promise = cited.and_then(|id| header.requirements.get(id));
        let text = promise.map_or(row.purpose.as_str(), |promise| promise.text.as_str());
        let mut rule = json!({
            "id": id,
            "shortDescription": { "text": some(text) },
            "properties": { "tags": [clean(&row.area)] },
        });
        if let Some(promise) = promise {
            rule["help"] = json!({ "text": some(&promise.source) });
        }
        self.bytes += rule.to_string().len();
        if self.bytes <= RULE_BYTES {
            self.known.insert(id.clone(), rule);
        }
        id
    }
}

fn result(row: &CaseRow, column: &MatrixColumn<'_>, reading: &RowReading, rule: &str) -> Value {
    let header = column.header;
    let level = match (reading, row.level) {
        (RowReading::Failed, Level::Must) => "error",
        (RowReading::Failed | RowReading::Unlearnt, _) | (_, Level::Must) => "warning",
        _ => "note",
    };
    let again = row.reproduce.as_ref().map(|line| format!(" Again: {line}")).unwrap_or_default();
    let flaky = row.outcome == Outcome::Flaky;
    let seen = if flaky { earlier_tries(row) } else { row.message.clone() };
    let message = format!("{}: {}: {seen}. {}{again}", row.id, headline(row), row.purpose);
    let fingerprint =
        Sha256::digest(format!("{}\n{}\n{}", column.backend.name, row.id, row.verdict));
    let mut result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": some(&message) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&case_path(header, row)) },
            "region": { "startLine": 1 },
        }}],
        "partialFingerprints": { "boxproofCase/v1": format!("{fingerprint:x}") },
        "properties": { "case": clean(&row.id), "verdict": row.verdict.keyword() },
    });
    if flaky {
        result["properties"]["tags"] = json!(["flaky"]);
    }
    if let Some(link) = case_link(header, row) {
        result["hostedViewerUri"] = json!(link);
    }
    if let RowReading::Excused(why) = reading {
        result["suppressions"] = json!([{ "kind": "external", "justification": some(why) }]);
    }
    result
}

/// A text of SARIF, which is never empty.
fn some(text: &str) -> String {
    match excerpt(text, TEXT) {
        none if none.trim().is_empty() => "not stated".to_owned(),
        some => some,
    }
}
