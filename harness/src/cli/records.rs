//! Run records as verbs are given them: files, or folders of files.

use std::path::{Path, PathBuf};

use boxproof_reports::Run;
use boxproof_reports::record::read;

use super::{Failure, open};

/// The records at `paths`, in their order; a folder stands for every `*.ndjson` in it, by name.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() { files.extend(in_folder(path)?) } else { files.push(path.clone()) }
    }
    files.iter().map(|file| read_one(file)).collect()
}

/// The record in the file at `path`.
pub(super) fn read_one(path: &Path) -> Result<Run, Failure> {
    read(open(path)?).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

/// Every `*.ndjson` of `folder`, by name.
///
/// # Errors
/// A folder that cannot be read, or has none.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fault = |what: String| Failure::usage(format!("{}: {what}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|error| fault(error.to_string()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let paths: Vec<PathBuf> =
        paths.collect::<Result<_, _>>().map_err(|error| fault(error.to_string()))?;
    let mut records: Vec<PathBuf> = paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "ndjson"))
        .collect();
    records.sort();
    match records.is_empty() {
        true => Err(fault("no run record (*.ndjson) is in there".to_owned())),
        false => Ok(records),
    }
}
