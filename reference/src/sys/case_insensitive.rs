//! The case-insensitivity of names in a directory.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sys::ignores_case;

/// Returns whether `directory` ignores case: its own flag says so, or one of its names, or its own in
/// the parent directory, is also found in other letters.
pub(crate) fn folds(directory: &Path) -> bool {
    ignores_case(directory) || names(directory).any(|path| is_found_in_other_letters(&path))
}

/// Names in `directory` that have letters, a few of them.
fn names(directory: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    /// Enough to meet one that can tell.
    const ENOUGH: usize = 8;
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| swapped(path).is_some()).take(ENOUGH)
}

fn is_found_in_other_letters(path: &Path) -> bool {
    let identity = |path: &Path| fs::symlink_metadata(path).map(|f| (f.dev(), f.ino()));
    let other = swapped(path).and_then(|other| identity(&other).ok());
    let same = other.is_some() && other == identity(path).ok();
    // Two links to one file, each in its own letters, are two names.
    same && !listed(&swapped(path).unwrap_or_default())
}

fn listed(path: &Path) -> bool {
    let entries = path.parent().and_then(|directory| fs::read_dir(directory).ok());
    let mut names = entries.into_iter().flatten().filter_map(Result::ok);
    names.any(|entry| Some(entry.file_name().as_os_str()) == path.file_name())
}

/// `path` with the last name in the other letters, if it has any.
fn swapped(path: &Path) -> Option<std::path::PathBuf> {
    let name = path.file_name()?.as_bytes();
    let other: Vec<u8> = name.iter().map(|byte| swap(*byte)).collect();
    (other != name).then(|| path.with_file_name(std::ffi::OsStr::from_bytes(&other)))
}

fn swap(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_that_tells_letters_apart_is_not_taken_for_another() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!folds(directory.path()));
        fs::write(directory.path().join("name"), "").unwrap();
        assert!(!folds(directory.path()));
        fs::hard_link(directory.path().join("name"), directory.path().join("NAME")).unwrap();
        assert!(!folds(directory.path()));
        assert!(!is_found_in_other_letters(&directory.path().join("name")));
    }

    #[test]
    fn letters_are_swapped() {
        assert_eq!(swapped(Path::new("/A/aB1")), Some("/A/Ab1".into()));
        assert_eq!(swapped(Path::new("/A/1")), None);
    }
}
