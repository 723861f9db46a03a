//! Links whose names carry meaning: on the way to granted paths, and in `/run`, where some systems
//! keep the names of their programs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::paths::{self, PathPassage};
use crate::sys::kernel_file;

/// The maximum depth of directories that are searched for links.
const DEPTH: usize = 2;
/// The end of a mount's root in the mount table where that was removed.
const DELETED: &[u8] = b"//deleted";

/// A link in a directory of service state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceLink {
    /// Its target (real path).
    pub(crate) target: PathBuf,
    /// The links on the way to the target, itself first.
    pub(crate) way: Vec<PathPassage>,
}

/// Returns the links and directories that `names` lead through, each once.
pub(super) fn ways(names: impl Iterator<Item = PathBuf>) -> Vec<PathPassage> {
    let ways = names.filter_map(|name| paths::walk(&name)).flat_map(|(_, way)| way);
    ways.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The links in `directories` that lead to something, and in the directories in them.
pub(super) fn in_directories(directories: &[PathBuf]) -> Vec<ServiceLink> {
    let mut links = Vec::new();
    let mut ahead: Vec<(PathBuf, usize)> =
        directories.iter().map(|directory| (directory.clone(), DEPTH)).collect();
    while let Some((directory, depth)) = ahead.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth > 1 {
                ahead.push((entry.path(), depth - 1));
            } else if kind.is_symlink() {
                let walked = paths::walk(&entry.path());
                links.extend(walked.map(|(target, way)| ServiceLink { target, way }));
            }
        }
    }
    links.sort_by(|a, b| a.way.cmp(&b.way));
    links
}

/// Returns the mount points whose file or directory was removed.
pub(super) fn unlinked_mounts() -> Vec<PathBuf> {
    unlinked(&kernel_file::content("/proc/self/mountinfo").unwrap_or_default())
}

fn unlinked(table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    let place = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ').skip(3);
        let root = fields.next()?;
        root.ends_with(DELETED).then(|| unescaped(fields.next().unwrap_or_default()))
    };
    lines.filter_map(place).collect()
}

/// A path of the mount table, where blanks and line feeds are `\nnn`.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(|_| *first == b'\\') {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

impl PathPassage {
    /// Returns its path.
    pub(crate) fn place(&self) -> &Path {
        match self {
            Self::Link(at, _) | Self::Directory(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_found_with_all_that_leads_on() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("run/a/b")).unwrap();
        fs::create_dir(root.join("store")).unwrap();
        symlink("../store", root.join("run/system")).unwrap();
        symlink("../system", root.join("run/a/again")).unwrap();
        symlink("nowhere", root.join("run/dangling")).unwrap();
        symlink("/", root.join("run/a/b/deep")).unwrap();
        let found = in_directories(&[root.join("run")]);
        let shown: Vec<_> = found.iter().map(|link| (&link.target, link.way.len())).collect();
        // A directory left again by `..` counts, too.
        assert_eq!(shown, [(&root.join("store"), 4), (&root.join("store"), 2)]);
    }

    #[test]
    fn mounts_of_what_was_removed_are_known() {
        let table = b"36 35 98:0 /f//deleted /mnt/a\\040b rw - ext4 /dev/sda rw\n\
            37 35 98:0 / /mnt/c rw - ext4 /dev/sda rw\n";
        assert_eq!(unlinked(table), [PathBuf::from("/mnt/a b")]);
    }
}
