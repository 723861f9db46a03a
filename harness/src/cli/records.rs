//! Run records as verbs are given them: files, or directories of files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use boxproof_reports::Run;
use boxproof_reports::findings::FindingKind;
use boxproof_reports::record::read;
use boxproof_reports::timing::{self, TimingRecord};

use super::CliFailure;
use crate::output::OutputDirectory;
use crate::plain_file;

/// The most bytes of a record that is found in a directory.
const LIMIT: u64 = 1 << 30;

/// The records at `paths`, in their order; a directory stands for every `*.ndjson` and
/// `*.ndjson.gz` in it, by name.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<Run>, CliFailure> {
    let mut runs = Vec::new();
    for path in paths {
        if path.is_dir() {
            for file in in_directory(path)? {
                let (opened, _) = plain_file::open(&file).map_err(|error| fault(&file, &error))?;
                runs.push(parse(&file, opened)?);
            }
        } else {
            // A pipe, too, where a person names one.
            runs.push(parse(path, File::open(path).map_err(|error| fault(path, &error))?)?);
        }
    }
    Ok(runs)
}

/// The cases that failed in the record at `path`, or of which it learnt nothing.
pub(super) fn failed_ids(path: &Path) -> Result<BTreeSet<String>, CliFailure> {
    let runs = read_all(std::slice::from_ref(&path.to_owned()))?;
    let rows = runs.iter().flat_map(|run| &run.rows);
    let failed =
        rows.filter(|row| !matches!(FindingKind::from_row(row), None | Some(FindingKind::Known)));
    Ok(failed.map(|row| row.id.clone()).collect())
}

/// The records in `directory`, with their paths, as its owner can read them.
pub(super) fn read_in(directory: &OutputDirectory) -> Result<Vec<(PathBuf, Run)>, CliFailure> {
    let names = directory.names()?.into_iter().filter(|name| is_record(name));
    let read_one = |name: &OsStr| {
        let (path, bytes) = (directory.join(name), directory.read(name, LIMIT)?);
        let run = parse(&path, bytes.as_slice())?;
        Ok((path, run))
    };
    names.map(|name| read_one(&name)).collect()
}

/// The timing record at `path`.
pub(super) fn read_timing(path: &Path) -> Result<TimingRecord, CliFailure> {
    let file = File::open(path).map_err(|error| fault(path, &error))?;
    timing::read(BufReader::new(file)).map_err(|error| fault(path, &error))
}

fn parse(path: &Path, input: impl Read) -> Result<Run, CliFailure> {
    read(BufReader::new(input)).map_err(|error| fault(path, &error))
}

fn is_record(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    [".ndjson", ".ndjson.gz"].iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Lists every record in `directory`, by name.
///
/// # Errors
/// A directory that cannot be read, or has none.
fn in_directory(directory: &Path) -> Result<Vec<PathBuf>, CliFailure> {
    let entries = std::fs::read_dir(directory).map_err(|error| fault(directory, &error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut records: Vec<PathBuf> =
        paths.collect::<Result<_, _>>().map_err(|error| fault(directory, &error))?;
    records.retain(|path| path.file_name().is_some_and(is_record));
    records.sort();
    match records.is_empty() {
        true => Err(fault(directory, &"no run record (*.ndjson) is in there")),
        false => Ok(records),
    }
}

fn fault(path: &Path, error: &dyn std::fmt::Display) -> CliFailure {
    CliFailure::usage(format!("{}: {error}", path.display()))
}
