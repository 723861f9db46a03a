//! Which sockets bound to paths may be reached: [`SocketRegister`]. The sandbox's own ones and those that
//! the policy lists, each known by the object that it is bound to and by no name.
//!
//! A socket is the sandbox's own because its bind passed here. The object is then looked up under the name
//! it was bound to, and counts only if the kernel says that this very socket is bound to it: so a socket
//! of the host that was moved to the name meanwhile is not taken for it. Before each use the kernel is
//! asked again, as a file system gives the number of an object that is gone to another one. No other
//! fact of the kernel's would do on all hosts: the network namespace of a socket is the host's where the
//! policy grants that, and who holds a socket is told only of a peer that was reached.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, fstat};

use super::mounts::MountTable;
use super::walk::PinnedName;
use crate::sys::socket_table::{BoundObject, SocketIdentity};

/// Device and inode of an object.
type ObjectKey = (u64, u64);

/// Sockets in the register before those that are gone are dropped.
const ROOM: usize = 256;

/// The sockets that may be reached.
#[derive(Debug)]
pub(super) struct SocketRegister {
    /// Listed sockets of the host, held open so that their numbers stay theirs.
    listed: Vec<(ObjectKey, OwnedFd)>,
    /// The sandbox's own sockets that are bound to a path.
    own: Mutex<OwnSockets>,
    /// Names are held, so that the command may make no namespaces.
    pub(super) names_held: bool,
    /// Some processes share a table of descriptors.
    pub(super) shares_descriptors: AtomicBool,
}

#[derive(Debug)]
struct OwnSockets {
    bound: HashMap<ObjectKey, (SocketIdentity, BoundObject)>,
    /// The number at which those that are gone are dropped.
    room: usize,
}

impl SocketRegister {
    /// Creates the register with `listed`, paths of this view. One that is not there grants nothing.
    pub(super) fn new(listed: &[PathBuf], names_held: bool) -> Self {
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let pinned = |path: &PathBuf| {
            let object = open(Path::new(path), flags, Mode::empty()).ok()?;
            Some((key(&fstat(&object).ok()?), object))
        };
        let own = OwnSockets { bound: HashMap::new(), room: ROOM };
        Self {
            listed: listed.iter().filter_map(pinned).collect(),
            own: Mutex::new(own),
            names_held,
            shares_descriptors: AtomicBool::new(false),
        }
    }

    /// Notes `socket`, which was just bound to `spot`. One that cannot be found there is not noted, and
    /// then cannot be reached.
    pub(super) fn note(&self, socket: &OwnedFd, spot: &PinnedName, mounts: &MountTable) {
        let found = || -> Option<(ObjectKey, SocketIdentity, BoundObject)> {
            let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
            let object =
                openat(&spot.directory, spot.name.as_c_str(), flags, Mode::empty()).ok()?;
            let found = fstat(&object).ok()?;
            let identity = SocketIdentity::from_socket(socket.as_fd()).ok()?;
            let bound = identity.bound().ok()??;
            // Numbers are unique in one subvolume, and no name moves between two.
            let here = fstat(&spot.directory).ok()?.st_dev == found.st_dev;
            let same = here && mounts.object(object.as_fd()) == Some(bound);
            same.then(|| (key(&found), identity, bound))
        };
        let Some((object, identity, bound)) = found() else { return };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.bound.len() >= own.room {
            own.bound.retain(|_, (identity, bound)| is_bound(*identity, *bound));
            own.room = ROOM.max(2 * own.bound.len());
        }
        own.bound.insert(object, (identity, bound));
    }

    /// Returns whether the socket that is bound to the object `found` may be reached.
    pub(super) fn admits(&self, found: &FileStat) -> bool {
        let object = key(found);
        if self.listed.iter().any(|(listed, _)| *listed == object) {
            return true;
        }
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = own.bound.get(&object).copied();
        drop(own);
        noted.is_some_and(|(identity, bound)| is_bound(identity, bound))
    }

    /// Notes that processes share their descriptors from now on.
    pub(super) fn note_sharing(&self) {
        self.shares_descriptors.store(true, Ordering::SeqCst);
    }
}

fn is_bound(identity: SocketIdentity, to: BoundObject) -> bool {
    identity.bound() == Ok(Some(to))
}

fn key(found: &FileStat) -> ObjectKey {
    (found.st_dev, found.st_ino)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_is_admitted_as_long_as_it_is_the_one_that_was_noted() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let spot = |name: &str| PinnedName {
            directory: fs::File::open(directory.path()).unwrap().into(),
            name: CString::new(name).unwrap(),
            slash: false,
            stands: false,
        };
        let mounts = MountTable::read().unwrap();
        let [own, foreign, listed] =
            ["own", "foreign", "listed"].map(|name| UnixListener::bind(path(name)).unwrap());
        let register = SocketRegister::new(&[path("listed"), path("missing")], false);
        let admits = |name: &str| register.admits(&nix::sys::stat::stat(&path(name)).unwrap());
        let own = OwnedFd::from(own);
        assert_eq!(["own", "foreign", "listed"].map(admits), [false, false, true]);
        // Another socket lies at the name by now.
        register.note(&own, &spot("foreign"), &mounts);
        assert_eq!(["own", "foreign"].map(admits), [false, false]);
        register.note(&own, &spot("own"), &mounts);
        fs::rename(path("own"), path("moved")).unwrap();
        fs::rename(path("listed"), path("elsewhere")).unwrap();
        assert_eq!(["moved", "foreign", "elsewhere"].map(admits), [true, false, true]);
        drop((own, foreign, listed));
        assert_eq!(["moved", "foreign"].map(admits), [false, false]);
    }
}
