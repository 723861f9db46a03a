//! Walking a directory that a backend may have filled: without following links, with one
//! descriptor, and within bounds of number and depth. Main function: [`walk`].

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::execution::BEYOND_BOUND;

/// The most entries of one walk.
const MOST_ENTRIES: usize = 50_000;
/// The most levels of one walk.
const MOST_LEVELS: usize = 300;

/// An entry of a walk.
#[derive(Debug)]
pub(crate) enum FoundEntry<'a> {
    /// An entry and its metadata.
    Entry(&'a Path, &'a Metadata),
    /// The directory, found before, is closed to us.
    Closed(&'a Path, &'a io::Error),
}

/// Calls `visit` with `top` and with everything below it; never if nothing is there.
///
/// # Errors
/// The reason why not everything was seen: an entry cannot be read, or there are too many.
pub(crate) fn walk(top: &Path, mut visit: impl FnMut(FoundEntry<'_>)) -> Result<(), String> {
    // The directories still to be listed, each with its level.
    let mut directories: Vec<(PathBuf, usize)> = Vec::new();
    if look_at(top, top, &mut visit)? {
        directories.push((top.to_owned(), 0));
    }
    let mut number = 0;
    while let Some((directory, level)) = directories.pop() {
        let entries = match directory.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                visit(FoundEntry::Closed(&directory, &error));
                continue;
            }
            Err(error) => {
                absent(top, &directory, &error)?;
                continue;
            }
        };
        for entry in entries {
            let path = entry.map_err(|error| fault(top, &directory, &error))?.path();
            number += 1;
            if number > MOST_ENTRIES {
                return Err(format!("{BEYOND_BOUND} {MOST_ENTRIES} entries"));
            }
            if level == MOST_LEVELS {
                return Err(format!("{BEYOND_BOUND} {MOST_LEVELS} levels"));
            }
            if look_at(top, &path, &mut visit)? {
                directories.push((path, level + 1));
            }
        }
    }
    Ok(())
}

/// Visits what is at `path`, and says whether it is a directory.
fn look_at(
    top: &Path,
    path: &Path,
    visit: &mut impl FnMut(FoundEntry<'_>),
) -> Result<bool, String> {
    match path.symlink_metadata() {
        Ok(meta) => {
            visit(FoundEntry::Entry(path, &meta));
            Ok(meta.is_dir())
        }
        Err(error) => absent(top, path, &error).map(|()| false),
    }
}

/// Checks that `error` says that nothing is at `path`.
///
/// # Errors
/// Any other error.
fn absent(top: &Path, path: &Path, error: &io::Error) -> Result<(), String> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(()),
        _ => Err(fault(top, path, error)),
    }
}

/// Describes `error` with the path below `top` where it was met.
fn fault(top: &Path, path: &Path, error: &io::Error) -> String {
    match path.strip_prefix(top) {
        Ok(below) if !below.as_os_str().is_empty() => format!("{}: {error}", below.display()),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(top: &Path) -> (usize, Result<(), String>) {
        let mut count = 0;
        let whole = walk(top, |_| count += 1);
        (count, whole)
    }

    #[test]
    fn a_walk_is_bounded_in_number_and_depth_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("top");
        assert_eq!(names(&top), (0, Ok(())));
        let levels = |number: usize| top.join(vec!["d"; number].join("/"));
        std::fs::create_dir_all(levels(MOST_LEVELS)).unwrap();
        assert_eq!(names(&top), (MOST_LEVELS + 1, Ok(())));
        std::fs::write(levels(MOST_LEVELS).join("f"), "").unwrap();
        let (count, whole) = names(&top);
        assert_eq!((count, whole.unwrap_err().contains("levels")), (MOST_LEVELS + 1, true));
        let wide = directory.path().join("wide");
        std::fs::create_dir(&wide).unwrap();
        (0..MOST_ENTRIES).for_each(|n| drop(std::fs::File::create(wide.join(n.to_string()))));
        let (count, whole) = names(&wide);
        assert_eq!((count, whole), (MOST_ENTRIES + 1, Ok(())));
        std::fs::write(wide.join("more"), "").unwrap();
        let (count, whole) = names(&wide);
        assert_eq!((count, whole.unwrap_err().contains("entries")), (MOST_ENTRIES + 1, true));
    }

    #[test]
    fn links_are_not_followed_not_even_the_first() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        std::fs::write(directory.path().join("d/f"), "").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("d", &link).unwrap();
        assert_eq!(names(&link), (1, Ok(())));
        assert_eq!(names(&directory.path().join("link/f")), (1, Ok(())));
        let (_, whole) = names(&directory.path().join(format!("link/{}", "x".repeat(300))));
        assert!(whole.unwrap_err().contains("too long"));
    }
}
