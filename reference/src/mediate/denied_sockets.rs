//! The sockets of the host that a command was kept from: of the paths by which it reached none, those at
//! which the host has one that is bound ([`denied_sockets`]).

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::mounts::MountTable;
use crate::sys::socket_table::{self, BoundObject};

/// Returns those of `unreached`, paths of a command's view, at which this host has a socket that is bound.
/// One that is bound by nothing refuses connections by itself. Each is named by its real path.
pub(crate) fn denied_sockets(unreached: &[PathBuf]) -> Vec<PathBuf> {
    let sockets: Vec<PathBuf> = unreached.iter().filter_map(|path| socket_at(path)).collect();
    if sockets.is_empty() {
        return sockets;
    }
    let (Ok(mounts), Ok(bound)) = (MountTable::read(), socket_table::bound_objects()) else {
        return Vec::new();
    };
    let is_bound =
        |path: &PathBuf| object(&mounts, path).is_some_and(|object| bound.contains(&object));
    sockets.into_iter().filter(is_bound).collect()
}

/// Returns the real path of the socket at `path`.
fn socket_at(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    fs::symlink_metadata(&real).ok()?.file_type().is_socket().then_some(real)
}

fn object(mounts: &MountTable, path: &Path) -> Option<BoundObject> {
    let flags = (OFlag::O_PATH | OFlag::O_NOFOLLOW).bits();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    mounts.object(file.as_fd())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn a_path_without_a_bound_socket_denies_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let at = |name: &str| real.join(name);
        let _open = UnixListener::bind(at("open")).unwrap();
        let _moved = UnixDatagram::bind(at("first")).unwrap();
        fs::rename(at("first"), at("moved")).unwrap();
        std::os::unix::fs::symlink("open", at("link")).unwrap();
        drop(UnixListener::bind(at("closed")).unwrap());
        fs::write(at("file"), "").unwrap();
        let names = ["open", "moved", "link", "closed", "file", "absent"];
        let due = ["open", "moved", "open"].map(at);
        assert_eq!(denied_sockets(&names.map(at)), due);
    }
}
