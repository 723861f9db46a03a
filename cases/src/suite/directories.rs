//! Directories of cases and requirements, read from disk ([`CorpusDirectories`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{CorpusTexts, REQUIREMENTS_DIR, is_yaml};
use crate::load::{FILE_LIMIT, LoadError};

/// The files of one or more directories.
#[derive(Debug, Default)]
pub(super) struct CorpusDirectories {
    /// The cases, by their path below the directory that they are in.
    pub(super) cases: CorpusTexts,
    /// The requirements, by their path as it is seen from the working directory.
    pub(super) requirements: CorpusTexts,
    /// Path of a case → its path as it is seen from the working directory.
    pub(super) places: BTreeMap<PathBuf, PathBuf>,
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

    fn add(&mut self, directory: &Path) {
        for (path, text) in read_below(directory, &mut self.errors) {
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

fn read_below(directory: &Path, errors: &mut Vec<LoadError>) -> CorpusTexts {
    let mut found = CorpusTexts::new();
    for entry in walkdir::WalkDir::new(directory).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let file = error.path().unwrap_or(directory).to_owned();
                let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                errors.push(LoadError::whole(&file, format!("cannot be read: {why}")));
                continue;
            }
        };
        if !entry.file_type().is_file() || !is_yaml(entry.path()) {
            continue;
        }
        let path = entry.into_path();
        match read_text(&path) {
            Ok(text) => {
                let below =
                    path.strip_prefix(directory).map_or_else(|_| path.clone(), Path::to_owned);
                found.insert(below, text);
            }
            Err(error) => errors.push(error),
        }
    }
    found
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
