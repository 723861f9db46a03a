//! The kind of object at a path that a request names, where the meaning of the request depends on
//! it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::WirePath;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat, geteuid};

use crate::sys;

/// Returns whether a missing component of `path` has a wildcard character.
pub(super) fn is_pattern(path: &Path) -> bool {
    let wild = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().iter().any(|byte| b"*?[{".contains(byte))
    };
    let missing = |path: &&Path| fs::symlink_metadata(path).is_err();
    wild_anywhere(path) && path.ancestors().take_while(missing).any(wild)
}

fn wild_anywhere(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[{".contains(byte))
}

/// Returns the reason why nothing is found at `path`.
pub(super) fn absence(path: &Path) -> &'static str {
    let error = fs::metadata(path).err().and_then(|error| error.raw_os_error());
    match error.map(Errno::from_raw) {
        Some(Errno::ELOOP) => "is a loop of symbolic links",
        Some(Errno::ENOTDIR) => "lies in something that is no directory",
        Some(Errno::EACCES) => "cannot be looked up (permission denied)",
        _ if fs::symlink_metadata(path).is_ok() => "is a symbolic link that leads nowhere",
        _ => "does not exist",
    }
}

/// Returns the paths of `listed` that exist and are no sockets, and the kind of each.
pub(super) fn other_than_sockets(listed: &[WirePath]) -> Vec<(PathBuf, &'static str)> {
    let kind = |path: &WirePath| {
        let kind = fs::metadata(path.as_path()).ok()?.file_type();
        let word = match () {
            () if kind.is_socket() => return None,
            () if kind.is_dir() => "a directory",
            () if kind.is_fifo() => "a FIFO",
            () if kind.is_file() => "a regular file",
            () => "a device",
        };
        Some((path.as_path().to_owned(), word))
    };
    listed.iter().filter_map(kind).collect()
}

/// Returns the owner of `root` if this process runs as root, another user owns `root`, and writing
/// it would require capabilities.
pub(super) fn foreign_owner(root: &Path) -> Option<u32> {
    let owner = fs::metadata(root).ok()?.uid();
    if !geteuid().is_root() || owner == 0 {
        return None;
    }
    let writes = || faccessat(AT_FDCWD, root, AccessFlags::W_OK, AtFlags::AT_EACCESS);
    let closed = sys::without_capabilities(|| writes().is_err());
    closed.is_ok_and(|closed| closed).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_wildcard_counts_where_nothing_of_that_name_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("[id]")).unwrap();
        for (path, pattern) in [
            ("[id]", false),
            ("[id]/new", false),
            ("[id]/*.env", true),
            ("**/x", true),
            ("a?/b", true),
            ("{a,b}", true),
            ("plain", false),
        ] {
            assert_eq!(is_pattern(&root.join(path)), pattern, "{path}");
        }
    }

    #[test]
    fn what_is_not_found_is_told_why() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::write(root.join("f"), "").unwrap();
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        for (path, why) in [
            ("none", "does not exist"),
            ("f/x", "no directory"),
            ("loop", "a loop"),
            ("dangling", "leads nowhere"),
        ] {
            assert!(absence(&root.join(path)).contains(why), "{path}");
        }
    }

    #[test]
    fn what_is_no_socket_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::write(root.join("f"), "").unwrap();
        let _listener = UnixListener::bind(root.join("s")).unwrap();
        let listed = ["f", "s", "none", "."].map(|name| WirePath(root.join(name)));
        let found = other_than_sockets(&listed);
        let words: Vec<_> = found.iter().map(|(_, word)| *word).collect();
        assert_eq!(words, ["a regular file", "a directory"]);
    }
}
