//! The reading of one row by a consumer of test results (`RowReading`): JUnit, TAP, SARIF and
//! annotations share it, and it agrees with the exit code of `boxproof run`.

use crate::exit::{ExitOptions, is_red};
use crate::record::{CaseRow, Header};
use crate::verdict::{Outcome, Verdict};

/// The meaning of one row for a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowReading {
    /// The row passed, or failed in a way that need not be reported.
    Passed,
    /// The row makes the run fail.
    Failed,
    /// Nothing was learnt.
    Unlearnt,
    /// The row failed without making the run fail, for this reason.
    Excused(String),
    /// The row was not judged, for this reason.
    NotRun(String),
}

impl RowReading {
    /// The reading of `row`, which is of a run with `header`.
    pub(crate) fn from_row(row: &CaseRow, header: &Header) -> Self {
        let options = ExitOptions { strict: header.selection.strict, allow_missing: false };
        match row.verdict {
            _ if is_red(row, options) => Self::Failed,
            _ if row.outcome == Outcome::Xfail => Self::Excused(known(row)),
            verdict if verdict.is_unlearnt() => Self::Unlearnt,
            verdict if verdict.is_failure() => {
                Self::Excused(format!("{verdict}, not counted at level {}", row.level.keyword()))
            }
            Verdict::Pass => Self::Passed,
            verdict => Self::NotRun(format!("{verdict}: {}", row.reason)),
        }
    }
}

fn known(row: &CaseRow) -> String {
    let known = row.known.as_ref();
    let reason = known.map(|known| known.reason.as_str()).unwrap_or_default();
    let link = known.and_then(|known| known.link.as_ref());
    let link = link.map(|link| format!(" ({link})")).unwrap_or_default();
    format!("known failure: {reason}{link}")
}

/// Returns the result of a row, in a few words for a list.
pub(crate) fn headline(row: &CaseRow) -> String {
    let reason = match row.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    match row.outcome {
        Outcome::Xpass => "a known failure that passes".to_owned(),
        Outcome::Flaky => format!("{}, flaky", row.verdict),
        _ => format!("{}{reason}", row.verdict),
    }
}

/// Returns whether the cases are those that come with boxproof.
pub(crate) fn is_built_in(header: &Header) -> bool {
    matches!(header.corpus.source.as_str(), "embedded" | "built-in")
}

/// The path of the case's file, in the repository where the corpus is built in.
#[must_use]
pub fn case_path(header: &Header, row: &CaseRow) -> String {
    let root = match header.corpus.source.as_str() {
        _ if is_built_in(header) => "cases/corpus",
        source => source.trim_start_matches("./").trim_end_matches('/'),
    };
    let file = row.file.clone().unwrap_or_else(|| {
        // Before format 3: AREA/BEHAVIOUR/ROW.
        let parts: Vec<&str> = row.id.split('/').take(2).collect();
        format!("{}.yaml", parts.join("/"))
    });
    if root.is_empty() { file } else { format!("{root}/{file}") }
}

/// Returns the address of the case's file; `None` if the record does not give one.
#[must_use]
pub fn case_link(header: &Header, row: &CaseRow) -> Option<String> {
    let base = header.base_url.as_ref()?;
    Some(format!("{}/{}", base.trim_end_matches('/'), uri_path(&case_path(header, row))))
}

/// `path` as a relative reference, or a file's address where it is absolute.
pub(crate) fn uri(path: &str) -> String {
    let encoded = uri_path(path);
    if path.starts_with('/') { format!("file://{encoded}") } else { encoded }
}

fn uri_path(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let encode = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.bytes().map(encode).collect()
}
