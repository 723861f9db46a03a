//! Snapshots: what a path is, down to inode and attributes, so that any change shows.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use walkdir::WalkDir;

use crate::plain_file;

/// What is at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its type, and what it holds: a hash, a link's target.
    pub holds: String,
    /// Permission bits and type bits.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Modification time in nanoseconds.
    pub modified: (i64, i64),
    /// Device, inode and number of links.
    pub identity: (u64, u64, u64),
    /// Extended attributes.
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What is at a path and at every path below it; nothing if the path is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot(BTreeMap<String, Facts>);

impl Snapshot {
    /// Looks at `path` without following a link at its end.
    pub fn take(path: &Path) -> Self {
        // Not even the first link is followed: one that dangles is something, too.
        let walk = WalkDir::new(path).follow_root_links(false).sort_by_file_name();
        let facts = walk.into_iter().flatten().filter_map(|entry| {
            let below = entry.path().strip_prefix(path).unwrap_or(entry.path());
            Some((below.to_string_lossy().into_owned(), Facts::of(entry.path())?))
        });
        Self(facts.collect())
    }

    /// Whether nothing is there.
    pub fn is_absent(&self) -> bool {
        self.0.is_empty()
    }

    /// What differs in `now`, in a few words; nothing if nothing does.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let names = self.0.keys().chain(now.0.keys());
        let mut differing = names.filter(|name| self.0.get(*name) != now.0.get(*name));
        let name = differing.next()?;
        let label = if name.is_empty() { String::new() } else { format!("{name}: ") };
        Some(label + &change(self.0.get(name), now.0.get(name)))
    }
}

fn change(before: Option<&Facts>, now: Option<&Facts>) -> String {
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
        _ => "has another modification time".to_owned(),
    }
}

impl Facts {
    fn of(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        let is_dir = meta.is_dir();
        Some(Self {
            holds: holds(path, &meta),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            // A folder's link count and size follow its entries, which have facts of their own.
            identity: (meta.dev(), meta.ino(), if is_dir { 0 } else { meta.nlink() }),
            attributes: attributes(path),
        })
    }
}

/// The type, and the content where there is one. Never blocks: only plain files are read.
fn holds(path: &Path, meta: &fs::Metadata) -> String {
    let kind = meta.file_type();
    if kind.is_dir() {
        return "a folder".to_owned();
    }
    if kind.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return format!("a link to {}", target.display());
    }
    if kind.is_file() {
        let hash = plain_file::hash(path).unwrap_or_else(|error| format!("unreadable ({error})"));
        return format!("{} bytes (sha256 {:.12})", meta.len(), hash);
    }
    let kind = if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    };
    format!("a {kind}")
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

/// Names below `folder` with type, mode and content: what two arms must share.
pub fn tree(folder: &Path) -> BTreeMap<String, String> {
    let walk = WalkDir::new(folder).min_depth(1).follow_links(false).sort_by_file_name();
    let lines = walk.into_iter().flatten().filter_map(|entry| {
        let meta = fs::symlink_metadata(entry.path()).ok()?;
        let below = entry.path().strip_prefix(folder).ok()?.to_string_lossy().into_owned();
        let mode = if meta.is_symlink() { 0 } else { meta.mode() & 0o7777 };
        Some((below, format!("{mode:04o} {}", holds(entry.path(), &meta))))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::PermissionsExt;

    #[rstest]
    #[case(|f: &Path| fs::write(f, "other").unwrap(), "holds 5 bytes")]
    #[case(|f: &Path| fs::remove_file(f).unwrap(), "is gone")]
    #[case(|f: &Path| fs::set_permissions(f, fs::Permissions::from_mode(0o600)).unwrap(), "mode")]
    #[case(|f: &Path| fs::hard_link(f, f.with_extension("l")).unwrap(), "number of links")]
    #[case(|f: &Path| { fs::rename(f, f.with_extension("o")).unwrap(); fs::copy(f.with_extension("o"), f).unwrap(); }, "another")]
    fn every_change_shows(#[case] act: fn(&Path), #[case] words: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        fs::write(&file, "x").unwrap();
        let before = Snapshot::take(&file);
        assert_eq!(before.difference(&Snapshot::take(&file)), None);
        act(&file);
        let difference = before.difference(&Snapshot::take(&file)).unwrap();
        assert!(difference.contains(words), "{difference}");
    }

    #[rstest]
    #[case("folder")]
    #[case("absent")]
    fn a_link_is_a_link_whatever_it_leads_to(#[case] target: &str) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(target, &link).unwrap();
        let before = Snapshot::take(&link);
        assert!(!before.is_absent());
        fs::write(folder.path().join("folder/new"), "").unwrap();
        assert_eq!(before.difference(&Snapshot::take(&link)), None, "what is behind it is apart");
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("other", &link).unwrap();
        let difference = before.difference(&Snapshot::take(&link)).unwrap();
        assert!(difference.contains("a link to other"), "{difference}");
    }

    #[test]
    fn a_folder_is_looked_at_to_the_bottom() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let before = Snapshot::take(folder.path());
        fs::write(folder.path().join("a/new"), "").unwrap();
        let difference = before.difference(&Snapshot::take(folder.path())).unwrap();
        assert!(difference.starts_with('a'), "{difference}");
        assert!(Snapshot::take(&folder.path().join("none")).is_absent());
    }
}
