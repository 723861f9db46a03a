//! Snapshots: the state of a path, down to inode and attributes, so that any change shows.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::walk::{FoundEntry, walk};
use crate::plain_file::{self, ReadBudget};

/// The facts about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// Its type, and what it holds: a hash, a link's target.
    pub holds: String,
    /// Permission bits and type bits.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Modification time in nanoseconds.
    pub modified: (i64, i64),
    /// The ctime of the inode, which no call can set back. Zero for a directory, whose entries have
    /// facts of their own: an entry that comes or goes need not be a change.
    pub changed: (i64, i64),
    /// Device, inode and number of links.
    pub identity: (u64, u64, u64),
    /// Extended attributes.
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// The facts about a path and every path below it; empty if the path is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathSnapshot {
    entries: BTreeMap<String, PathFacts>,
    /// The reason why there may be more.
    cut: Option<String>,
}

impl PathSnapshot {
    /// Takes a snapshot of `path` without following a link at its end.
    ///
    /// # Errors
    /// The reason why it is unknown whether the path exists.
    pub fn take(path: &Path) -> Result<Self, String> {
        let mut budget = ReadBudget::default();
        let mut entries: BTreeMap<String, PathFacts> = BTreeMap::new();
        let name = |at: &Path| at.strip_prefix(path).unwrap_or(at).to_string_lossy().into_owned();
        let cut = walk(path, |found| match found {
            FoundEntry::Entry(at, meta) => {
                entries.insert(name(at), PathFacts::from_metadata(at, meta, &mut budget));
            }
            FoundEntry::Closed(at, error) => {
                if let Some(facts) = entries.get_mut(&name(at)) {
                    facts.holds = closed(error);
                }
            }
        });
        match cut {
            Err(why) if entries.is_empty() => Err(why),
            cut => Ok(Self { entries, cut: cut.err() }),
        }
    }

    /// Returns whether the path is absent.
    pub fn is_absent(&self) -> bool {
        self.entries.is_empty()
    }

    /// Describes the first difference in `now`, in a few words; `None` if there is none.
    ///
    /// # Errors
    /// The reason why a difference may not have been seen.
    pub fn difference(&self, now: &Self) -> Result<Option<String>, String> {
        let names = self.entries.keys().chain(now.entries.keys());
        let mut differing = names.filter(|name| self.entries.get(*name) != now.entries.get(*name));
        let Some(name) = differing.next() else {
            return self.cut.clone().or(now.cut.clone()).map_or(Ok(None), Err);
        };
        let label = if name.is_empty() { String::new() } else { format!("{name}: ") };
        Ok(Some(label + &change(self.entries.get(name), now.entries.get(name))))
    }
}

fn change(before: Option<&PathFacts>, now: Option<&PathFacts>) -> String {
    match (before, now) {
        (None, _) => "appeared".to_owned(),
        (_, None) => "is gone".to_owned(),
        (Some(before), Some(now)) if before.holds != now.holds => {
            format!("holds {} instead of {}", now.holds, before.holds)
        }
        (Some(before), Some(now)) if before.mode != now.mode => {
            format!("has mode {:o} instead of {:o}", now.mode, before.mode)
        }
        (Some(before), Some(now)) if before.identity != now.identity => {
            "is another file, or has another number of links".to_owned()
        }
        (Some(before), Some(now)) if before.attributes != now.attributes => {
            "has other extended attributes".to_owned()
        }
        (Some(before), Some(now)) if before.owner != now.owner => "has another owner".to_owned(),
        (Some(before), Some(now)) if before.modified == now.modified => {
            "was changed and is as before again: it has another change time".to_owned()
        }
        _ => "has another modification time".to_owned(),
    }
}

impl PathFacts {
    fn from_metadata(path: &Path, meta: &fs::Metadata, budget: &mut ReadBudget) -> Self {
        let is_dir = meta.is_dir();
        let changed = if is_dir { (0, 0) } else { (meta.ctime(), meta.ctime_nsec()) };
        Self {
            holds: holds(path, meta, budget).0,
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed,
            // A directory's link count and size follow its entries, which have facts of their own.
            identity: (meta.dev(), meta.ino(), if is_dir { 0 } else { meta.nlink() }),
            attributes: attributes(path),
        }
    }
}

/// Describes a directory whose entries cannot be listed.
fn closed(error: &io::Error) -> String {
    format!("a directory that cannot be listed ({})", error.kind())
}

/// The type, and the content where there is one; and whether that was too large to be read. Never
/// blocks: only plain files are read.
fn holds(path: &Path, meta: &fs::Metadata, budget: &mut ReadBudget) -> (String, bool) {
    let kind = meta.file_type();
    if kind.is_file() {
        return match plain_file::hash(path, budget) {
            Ok(hash) => (format!("{} bytes (sha256 {hash:.12})", meta.len()), false),
            Err(error) => {
                let unread = error.kind() == io::ErrorKind::FileTooLarge;
                (format!("{} bytes (unreadable: {error})", meta.len()), unread)
            }
        };
    }
    let text = if kind.is_dir() {
        "a directory".to_owned()
    } else if kind.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        format!("a link to {}", target.display())
    } else if kind.is_fifo() {
        "a pipe".to_owned()
    } else if kind.is_socket() {
        "a socket".to_owned()
    } else {
        "a device".to_owned()
    };
    (text, false)
}

#[cfg(target_os = "linux")]
fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let names = xattr::list(path).into_iter().flatten();
    let named = names.filter_map(|name| {
        let value = xattr::get(path, &name).ok()??;
        Some((name.as_bytes().to_vec(), value))
    });
    named.collect()
}

#[cfg(not(target_os = "linux"))]
fn attributes(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let _ = path.as_os_str().as_bytes();
    BTreeMap::new()
}

/// The entries below a directory, by which two arms are compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct EntryTree {
    /// Every name, with type, mode and content.
    pub(crate) entries: BTreeMap<String, String>,
    /// The reason why there may be more, or why something was not read.
    pub(crate) cut: Option<String>,
}

impl EntryTree {
    /// Looks at what is below `directory`; files are read only where `contents` is asked for.
    pub(crate) fn take(directory: &Path, contents: bool) -> Self {
        let mut budget = ReadBudget::default();
        let (mut entries, mut unread) = (BTreeMap::new(), None);
        let name =
            |at: &Path| at.strip_prefix(directory).unwrap_or(at).to_string_lossy().into_owned();
        let cut = walk(directory, |found| match found {
            FoundEntry::Entry(at, _) if at == directory => {}
            FoundEntry::Entry(at, _) if !contents => drop(entries.insert(name(at), String::new())),
            FoundEntry::Entry(at, meta) => {
                let mode = if meta.is_symlink() { 0 } else { meta.mode() & 0o7777 };
                let (holds, is_unread) = holds(at, meta, &mut budget);
                if is_unread {
                    unread = Some(format!("{}: it is too large to be read", name(at)));
                }
                entries.insert(name(at), format!("{mode:04o} {holds}"));
            }
            FoundEntry::Closed(at, error) => {
                if let Some(what) = entries.get_mut(&name(at)) {
                    *what = what.replace("a directory", &closed(error));
                }
            }
        });
        Self { entries, cut: cut.err().or(unread) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    #[rstest]
    #[case(|f: &Path| fs::write(f, "other").unwrap(), "holds 5 bytes")]
    #[case(|f: &Path| fs::remove_file(f).unwrap(), "is gone")]
    #[case(|f: &Path| fs::set_permissions(f, fs::Permissions::from_mode(0o600)).unwrap(), "mode")]
    #[case(|f: &Path| fs::hard_link(f, f.with_extension("l")).unwrap(), "number of links")]
    #[case(|f: &Path| { fs::rename(f, f.with_extension("o")).unwrap(); fs::copy(f.with_extension("o"), f).unwrap(); }, "another")]
    fn every_change_shows(#[case] act: fn(&Path), #[case] words: &str) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        fs::write(&file, "x").unwrap();
        let before = PathSnapshot::take(&file).unwrap();
        assert_eq!(before.difference(&PathSnapshot::take(&file).unwrap()), Ok(None));
        act(&file);
        let difference = before.difference(&PathSnapshot::take(&file).unwrap()).unwrap().unwrap();
        assert!(difference.contains(words), "{difference}");
    }

    #[rstest]
    #[case("directory")]
    #[case("absent")]
    fn a_link_is_a_link_whatever_it_leads_to(#[case] target: &str) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(target, &link).unwrap();
        let before = PathSnapshot::take(&link).unwrap();
        assert!(!before.is_absent());
        fs::write(directory.path().join("directory/new"), "").unwrap();
        assert_eq!(
            before.difference(&PathSnapshot::take(&link).unwrap()),
            Ok(None),
            "what is behind it is apart"
        );
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("other", &link).unwrap();
        let difference = before.difference(&PathSnapshot::take(&link).unwrap()).unwrap().unwrap();
        assert!(difference.contains("a link to other"), "{difference}");
    }

    #[test]
    fn a_directory_is_looked_at_to_the_bottom() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("a")).unwrap();
        let before = PathSnapshot::take(directory.path()).unwrap();
        fs::write(directory.path().join("a/new"), "").unwrap();
        let difference =
            before.difference(&PathSnapshot::take(directory.path()).unwrap()).unwrap().unwrap();
        assert!(difference.starts_with('a'), "{difference}");
        assert!(PathSnapshot::take(&directory.path().join("none")).unwrap().is_absent());
    }

    #[rstest]
    #[case(false)]
    #[case(true)]
    fn a_change_that_is_undone_shows(#[case] below: bool) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        fs::write(&file, "one").unwrap();
        let top = if below { directory.path() } else { &file };
        let before = PathSnapshot::take(top).unwrap();
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        let opened = fs::File::options().write(true).open(&file).unwrap();
        for text in ["two", "one"] {
            opened.write_all_at(text.as_bytes(), 0).unwrap();
        }
        // The kernel's clock for this goes in ticks.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        let mut difference = None;
        while difference.is_none() && std::time::Instant::now() < deadline {
            opened.set_modified(modified).unwrap();
            difference = before.difference(&PathSnapshot::take(top).unwrap()).unwrap();
        }
        let difference = difference.unwrap();
        assert!(difference.contains("another change time"), "{difference}");
    }

    #[test]
    fn who_cannot_look_does_not_say_that_nothing_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let closed = directory.path().join("closed");
        fs::create_dir(&closed).unwrap();
        // Root can open every directory, but no user a name that is too long.
        let error = PathSnapshot::take(&closed.join("x".repeat(300))).unwrap_err();
        assert!(error.contains("too long"), "{error}");
        std::os::unix::fs::symlink("loop", closed.join("loop")).unwrap();
        let error = PathSnapshot::take(&closed.join("loop/f")).unwrap_err();
        assert!(error.contains("symbolic links"), "{error}");
        fs::write(closed.join("f"), "").unwrap();
        assert!(PathSnapshot::take(&closed.join("f/g")).unwrap().is_absent());
    }
}
