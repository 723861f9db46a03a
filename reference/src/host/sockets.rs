//! Path sockets bound on the host, from the kernel's own table.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use super::reachability::is_reachable;
use crate::sys::kernel_file;

/// Returns the bound sockets whose path leads to a socket today. A socket that the command cannot
/// reach is left out: nothing could be mounted there either.
pub(super) fn bound() -> Vec<PathBuf> {
    let table = kernel_file::content("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table).into_owned();
    let mut sockets: Vec<PathBuf> = paths(&table)
        .filter_map(|path| fs::canonicalize(path).ok())
        .filter(is_socket)
        .filter(|path| is_reachable(path))
        .collect();
    sockets.sort();
    sockets.dedup();
    sockets
}

fn is_socket(path: &PathBuf) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
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
}
