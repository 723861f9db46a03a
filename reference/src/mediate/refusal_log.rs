//! The log of refusals, for the explanation of the run: the refused paths, once each and as the
//! view has them, in a memory file that the supervisor holds too ([`RefusalLog`]). Its size is bounded.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::mounts;
use super::walk::PinnedName;

/// Places that are kept at most.
pub(crate) const MOST: usize = 32;
/// Bytes of a place at most.
const LONGEST: usize = 4096;

/// The file of refusals, and the paths in it.
#[derive(Debug)]
pub(super) struct RefusalLog(Mutex<(File, Vec<PathBuf>)>);

impl RefusalLog {
    /// Creates the ledger in `file`, which is empty.
    pub(super) fn new(file: OwnedFd) -> Self {
        Self(Mutex::new((file.into(), Vec::new())))
    }

    /// Notes that an object was kept from being created at `spot`, or removed. A failure to note it
    /// is ignored: a refusal does not depend on it.
    pub(super) fn note(&self, spot: &PinnedName) {
        let Ok(directory) = mounts::path_of(spot.directory.as_fd()) else { return };
        let place = directory.join(std::ffi::OsStr::from_bytes(spot.bare()));
        if place.as_os_str().len() > LONGEST {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, places) = &mut *kept;
        if places.len() < MOST && !places.contains(&place) {
            let line = [place.as_os_str().as_bytes(), b"\0"].concat();
            places.extend(file.write_all(&line).is_ok().then_some(place));
        }
    }
}

/// The places that were noted in `file`.
pub(crate) fn noted(file: &File) -> Vec<PathBuf> {
    let mut bytes = vec![0; MOST * (LONGEST + 1)];
    let Ok(read) = file.read_at(&mut bytes, 0) else { return Vec::new() };
    bytes.truncate(read);
    let whole = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let places = bytes[..whole].split(|byte| *byte == 0).filter(|place| !place.is_empty());
    places.map(|place| std::ffi::OsString::from_vec(place.to_vec()).into()).take(MOST).collect()
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
        assert_eq!(noted(&shared), [real.join("a\nb")]);
        (0..100).for_each(|number| ledger.note(&spot(&number.to_string())));
        assert_eq!(noted(&shared).len(), MOST);
    }
}
