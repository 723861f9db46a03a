//! Directories of cases and requirements, read from disk ([`CorpusDirectories`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{CorpusTexts, REQUIREMENTS_DIR, Suite, is_yaml};
use crate::load::{FILE_LIMIT, LoadError};

/// A file or directory that looks like a case, but is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// Its path as it is seen from the working directory.
    pub path: PathBuf,
    /// The reason, as what it is.
    pub why: &'static str,
}

impl std::fmt::Display for SkippedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.why)
    }
}

impl Suite {
    /// Returns why directories have no case, if they have none.
    pub fn lack_of_cases(&self) -> Option<String> {
        let lacks = self.cases.is_empty() && !self.is_embedded();
        lacks.then(|| match self.skipped.is_empty() {
            true => format!("no case in {}: no file below it is called *.yaml", self.source),
            false => {
                let skipped: Vec<_> = self.skipped.iter().map(ToString::to_string).collect();
                let skipped = skipped.join(", ");
                format!(
                    "no case in {}: a case is a regular file *.yaml, not {skipped}",
                    self.source
                )
            }
        })
    }
}

/// The files of one or more directories.
#[derive(Debug, Default)]
pub(super) struct CorpusDirectories {
    /// The cases, by their path below the directory that they are in.
    pub(super) cases: CorpusTexts,
    /// The requirements, by their path as it is seen from the working directory.
    pub(super) requirements: CorpusTexts,
    /// Path of a case → its path as it is seen from the working directory.
    pub(super) places: BTreeMap<PathBuf, PathBuf>,
    /// What is not read, although it looks like a case.
    pub(super) skipped: Vec<SkippedFile>,
    /// The faults: files that cannot be read, and cases that are in two directories.
    pub(super) errors: Vec<LoadError>,
}

impl CorpusDirectories {
    pub(super) fn read<P: AsRef<Path>>(directories: &[P]) -> Self {
        let mut found = Self::default();
        for directory in directories {
            found.add(directory.as_ref());
        }
        found
    }

    fn read_below(&mut self, directory: &Path) -> CorpusTexts {
        let mut found = CorpusTexts::new();
        for entry in walkdir::WalkDir::new(directory).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.file_type().is_file() && is_yaml(entry.path()) => {
                    let path = entry.path();
                    let below = path.strip_prefix(directory).unwrap_or(path).to_owned();
                    match read_text(path) {
                        Ok(text) => drop(found.insert(below, text)),
                        Err(error) => self.errors.push(error),
                    }
                }
                Ok(entry) => {
                    let path = entry.path().to_owned();
                    self.skipped.extend(skipped(&entry).map(|why| SkippedFile { path, why }));
                }
                Err(error) => {
                    let file = error.path().unwrap_or(directory).to_owned();
                    let why =
                        error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    self.errors.push(LoadError::whole(&file, format!("cannot be read: {why}")));
                }
            }
        }
        found
    }

    fn add(&mut self, directory: &Path) {
        for (path, text) in self.read_below(directory) {
            let place = directory.join(&path);
            if path.starts_with(REQUIREMENTS_DIR) {
                self.requirements.insert(place, text);
            } else if let Some(other) = self.places.get(&path) {
                let message = format!("{} is the same case: rename one", other.display());
                self.errors.push(LoadError::whole(&place, message));
            } else {
                self.places.insert(path.clone(), place);
                self.cases.insert(path, text);
            }
        }
    }
}

/// Returns the name of the corpus in `directories`: of several the directory that all of them are
/// seen from.
pub(super) fn source<P: AsRef<Path>>(directories: &[P]) -> String {
    match directories {
        // A relative path that is no word for the built-in corpus.
        [one] if one.as_ref().is_relative() && one.as_ref().iter().count() == 1 => {
            let name = one.as_ref().display().to_string();
            if ["embedded", "built-in"].contains(&name.as_str()) {
                format!("./{name}")
            } else {
                name
            }
        }
        [one] => one.as_ref().display().to_string(),
        _ => ".".to_owned(),
    }
}

/// Returns why a file or link is not read, although it looks like a case.
fn skipped(entry: &walkdir::DirEntry) -> Option<&'static str> {
    let extension = entry.path().extension().and_then(|extension| extension.to_str());
    let is_yaml = extension.is_some_and(|e| ["yaml", "yml"].contains(&&*e.to_ascii_lowercase()));
    let kind = entry.file_type();
    match is_yaml {
        _ if kind.is_dir() => None,
        _ if kind.is_symlink() && (is_yaml || entry.path().is_dir()) => Some("a symbolic link"),
        true if kind.is_file() => Some("its extension is not .yaml"),
        true => Some("no regular file"),
        false => None,
    }
}

/// The text of a file; of one that is too large as much as shows that it is.
fn read_text(path: &Path) -> Result<String, LoadError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_LIMIT + 1).read_to_end(&mut bytes));
    read.map_err(|error| LoadError::whole(path, format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > FILE_LIMIT {
        let message = format!("more than {FILE_LIMIT} bytes: split it into several files");
        return Err(LoadError::whole(path, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        let message = "not UTF-8: write the file in UTF-8, and bytes as escapes";
        LoadError { line, ..LoadError::whole(path, message) }
    })
}
