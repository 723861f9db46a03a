//! The log of refusals, for the explanation of the run: the refused names, and the paths of sockets that
//! were not reached, once each and as the view has them, in a memory file that the supervisor holds too
//! ([`RefusalLog`]). Its size is bounded.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::mounts;
use super::walk::PinnedName;

/// Places of each kind that are kept at most.
pub(crate) const MOST: usize = 32;
/// Bytes of a place at most.
const LONGEST: usize = 4096;
/// The letter before each kind of place.
const NAME: u8 = b'n';
const SOCKET: u8 = b's';

/// The file of refusals, and the entries in it.
#[derive(Debug)]
pub(super) struct RefusalLog(Mutex<(File, Vec<Vec<u8>>)>);

/// The places in a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NotedPlaces {
    /// Names that were not made, or not removed.
    pub(crate) names: Vec<PathBuf>,
    /// Paths of sockets that were not reached.
    pub(crate) sockets: Vec<PathBuf>,
}

impl RefusalLog {
    /// Creates the ledger in `file`, which is empty.
    pub(super) fn new(file: OwnedFd) -> Self {
        Self(Mutex::new((file.into(), Vec::new())))
    }

    /// Notes that an object was kept from being created at `spot`, or removed. A failure to note it
    /// is ignored: a refusal does not depend on it.
    pub(super) fn note(&self, spot: &PinnedName) {
        let Ok(directory) = mounts::path_of(spot.directory.as_fd()) else { return };
        self.keep(NAME, &directory.join(std::ffi::OsStr::from_bytes(spot.bare())));
    }

    /// Notes that no socket was reached by the path `place`.
    pub(super) fn note_socket(&self, place: &Path) {
        self.keep(SOCKET, place);
    }

    fn keep(&self, kind: u8, place: &Path) {
        let place = place.as_os_str().as_bytes();
        if place.len() > LONGEST {
            return;
        }
        let entry = [&[kind], place, b"\0"].concat();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, entries) = &mut *kept;
        let alike = entries.iter().filter(|one| one.first() == Some(&kind)).count();
        if alike < MOST && !entries.contains(&entry) && file.write_all(&entry).is_ok() {
            entries.push(entry);
        }
    }
}

/// The places that were noted in `file`.
pub(crate) fn noted(file: &File) -> NotedPlaces {
    let mut bytes = vec![0; 2 * MOST * (LONGEST + 2)];
    let Ok(read) = file.read_at(&mut bytes, 0) else { return NotedPlaces::default() };
    bytes.truncate(read);
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let of_kind = |kind: u8| {
        let entries = bytes[..whole].split(|byte| *byte == 0);
        let places = entries.filter_map(|entry| entry.strip_prefix(&[kind]));
        let places = places.map(|place| std::ffi::OsString::from_vec(place.to_vec()).into());
        places.take(MOST).collect()
    };
    NotedPlaces { names: of_kind(NAME), sockets: of_kind(SOCKET) }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;
    use crate::sys;

    #[test]
    fn places_are_noted_once_and_no_more_than_fit() {
        let shared = sys::memory_file(b"").unwrap();
        let ledger = RefusalLog::new(shared.try_clone().unwrap().into());
        let directory = tempfile::tempdir().unwrap();
        let spot = |name: &str| PinnedName {
            directory: File::open(directory.path()).unwrap().into(),
            name: CString::new(name).unwrap(),
            slash: false,
            stands: false,
        };
        ledger.note(&spot("a\nb"));
        ledger.note(&spot("a\nb"));
        ledger.note(&spot(&"x".repeat(LONGEST)));
        let real = directory.path().canonicalize().unwrap();
        assert_eq!(noted(&shared).names, [real.join("a\nb")]);
        (0..100).for_each(|number| ledger.note(&spot(&number.to_string())));
        assert_eq!(noted(&shared).names.len(), MOST);
        ledger.note_socket(Path::new("/s"));
        ledger.note_socket(Path::new("/s"));
        assert_eq!(noted(&shared).sockets, [Path::new("/s")]);
        assert_eq!(noted(&shared).names.len(), MOST);
    }
}
