//! Path sockets bound on the host, from the kernel's own table.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::reachability::is_reachable;
use crate::sys::kernel_file;

/// Returns the bound sockets whose path leads to a socket today. A socket that the command cannot
/// reach is left out: nothing could be mounted there either.
pub(super) fn bound() -> Vec<PathBuf> {
    let table = kernel_file::content("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table).into_owned();
    // An accepted connection has the path of its listener in the table.
    let named: BTreeSet<PathBuf> = paths(&table).collect();
    let mut directories = ReachableDirectories::default();
    let found: BTreeSet<PathBuf> =
        named.iter().filter_map(|path| directories.socket(path)).collect();
    found.into_iter().collect()
}

/// Directories as the table names them, each with its real path if the command can reach what lies in it. A host
/// has many sockets in few directories.
#[derive(Default)]
struct ReachableDirectories(HashMap<PathBuf, Option<PathBuf>>);

impl ReachableDirectories {
    /// Returns the real path of the socket that `path` leads to, if the command can reach it.
    fn socket(&mut self, path: &Path) -> Option<PathBuf> {
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        if kind.is_symlink() {
            let real = fs::canonicalize(path).ok()?;
            let is_socket = fs::symlink_metadata(&real).ok()?.file_type().is_socket();
            return Some(real).filter(|real| is_socket && is_reachable(real));
        }
        let (directory, name) = (path.parent()?, path.file_name()?);
        if !kind.is_socket() {
            return None;
        }
        if !self.0.contains_key(directory) {
            let real = fs::canonicalize(directory).ok();
            let real = real.filter(|real| is_reachable(&real.join(name)));
            self.0.insert(directory.to_owned(), real);
        }
        Some(self.0.get(directory)?.as_ref()?.join(name))
    }
}

/// The width of the columns between the first colon of a line and its inode, blanks included:
/// ` RefCount Protocol Flags Type St `.
const FIXED_COLUMNS: usize = 36;

/// The absolute paths in a table of seven columns and a path.
fn paths(table: &str) -> impl Iterator<Item = PathBuf> + '_ {
    table.lines().skip(1).filter_map(path_of)
}

fn path_of(line: &str) -> Option<PathBuf> {
    let (_, columns) = line.split_once(':')?;
    let inode = columns.get(FIXED_COLUMNS..)?.trim_start_matches(' ');
    let (_, path) = inode.split_once(' ')?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01  1234 /run/a b.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 123456 @abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 99\n\
            0000000000000000: 00000002 00000000 00010000 0002 01 7 /x\n";
        let found: Vec<_> = paths(table).collect();
        assert_eq!(found, [PathBuf::from("/run/a b.sock"), PathBuf::from("/x")]);
    }

    #[test]
    fn a_bound_socket_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(bound().contains(&path));
    }

    #[test]
    fn a_name_counts_by_what_it_leads_to_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(top.join("s")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        std::os::unix::fs::symlink("s", top.join("link")).unwrap();
        std::os::unix::fs::symlink(&top, top.join("way")).unwrap();
        std::os::unix::fs::symlink("file", top.join("to-file")).unwrap();
        let mut directories = ReachableDirectories::default();
        for name in ["s", "link", "way/s", "way/link"] {
            assert_eq!(directories.socket(&top.join(name)), Some(top.join("s")), "{name}");
        }
        for name in ["file", "to-file", "gone", "gone/s"] {
            assert_eq!(directories.socket(&top.join(name)), None, "{name}");
        }
    }
}
