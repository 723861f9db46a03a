//! A static site of run records ([`render`]): an index, the matrix of the last records, a page a
//! backend and a page a profile, badges. It needs no script and no network.

mod backend;
mod badge;
mod history;
mod index;
mod page;
mod profile;
mod trend;

use thiserror::Error;

use crate::matrix::Matrix;
use crate::record::Run;
use crate::{MergeError, badge as badge_json, merge_partial};
use history::RecordHistory;
pub(super) use page::framed;

/// The reason why there is no site.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the last records of all hosts and users are no matrix: {0}")]
pub struct SiteError(#[from] MergeError);

/// One file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Its name: letters, digits, `-`, `_` and `.` alone.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The content that every page draws from.
struct SiteContent<'a> {
    history: &'a RecordHistory,
    /// The last records.
    matrix: &'a Matrix<'a>,
    /// Those before them, where there are any that fit together.
    before: Option<&'a Matrix<'a>>,
    /// The file of each column's backend.
    backend_files: Vec<String>,
}

/// Renders the site of `runs`, which may be of several hosts, users and dates.
///
/// # Errors
/// If the last records of all hosts and users cannot be set side by side.
pub fn render(runs: Vec<Run>) -> Result<Vec<SiteFile>, SiteError> {
    let history = RecordHistory::new(runs);
    let matrix = merge_partial(&history.latest)?;
    let before = merge_partial(&history.before).ok();
    let content = SiteContent {
        history: &history,
        matrix: &matrix,
        before: before.as_ref(),
        backend_files: page::file_names(
            "backend",
            matrix.columns.iter().map(|column| column.backend.name.as_str()),
        ),
    };
    let mut files = vec![
        SiteFile { name: "index.html".to_owned(), text: index::page(&content) },
        SiteFile { name: "matrix.html".to_owned(), text: super::render(&matrix) },
    ];
    files.extend(backend::pages(&content));
    files.extend(profile::pages(&content));
    for (name, text) in badge_json::of_profiles(&matrix) {
        let svg = badge::svg(&text);
        let picture = format!("{}.svg", name.trim_end_matches(".json"));
        files.push(SiteFile { name: format!("badge-{name}"), text });
        files.push(SiteFile { name: format!("badge-{picture}"), text: svg });
    }
    Ok(files)
}
