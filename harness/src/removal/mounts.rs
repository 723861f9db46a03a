//! Mounts on and below a directory, which are detached before it is emptied.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::sys::{self, table};

/// Detaches every mount on and below `directory`, the last made first, as long as there are fewer
/// of them after each round: below a detached one another may show.
pub(super) fn detach_below(directory: &Path) {
    let mut before = usize::MAX;
    loop {
        let points = points_below(directory, &table::mounts());
        if points.is_empty() || points.len() >= before {
            return;
        }
        before = points.len();
        for point in points.iter().rev() {
            // A mount that stays is met by the walk, which does not enter it.
            let _ = sys::detach(point);
        }
    }
}

/// Returns the reason why the mount point `at` stays.
pub(super) fn reason(at: &Path) -> String {
    match sys::detach(at) {
        Ok(()) => "something is mounted there again and again".to_owned(),
        Err(error) => format!("something is mounted there, which cannot be detached: {error}"),
    }
}

/// The mount points of a mount table that are `directory` or lie below it.
fn points_below(directory: &Path, table: &str) -> Vec<PathBuf> {
    table.lines().filter_map(point).filter(|point| point.starts_with(directory)).collect()
}

/// The mount point of a line of a mount table.
pub(crate) fn point(line: &str) -> Option<PathBuf> {
    line.split(' ').nth(4).map(unescaped).map(PathBuf::from)
}

/// A path as mount tables write it, where a blank is `\040`.
fn unescaped(point: &str) -> OsString {
    let mut bytes = Vec::with_capacity(point.len());
    let mut rest = point.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\').then(|| after.get(..3)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_on_and_below_a_directory_are_found_blanks_and_all() {
        let line = |point: &str| format!("1 2 0:3 / {point} rw - tmpfs x rw\n");
        let table: String =
            ["/", "/a", "/a/b", "/ab", "/a/two\\040words", "/a/b\\134\\9"].map(line).concat();
        let found = points_below("/a".as_ref(), &table);
        assert_eq!(found, ["/a", "/a/b", "/a/two words", "/a/b\\\\9"].map(PathBuf::from));
    }
}
