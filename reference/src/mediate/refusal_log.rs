//! The refusals of calls, told to the supervisor through a pipe as they are made ([`RefusalLog`]).

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;

use super::caller::CallingThread;
use super::mounts;
use super::walk::PinnedName;
use crate::control::{RefusedCall, RefusedObject};
use crate::sys;

/// The writing end of the pipe.
#[derive(Debug)]
pub(super) struct RefusalLog(Mutex<File>);

impl RefusalLog {
    /// Creates the log that goes to `pipe`.
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self(Mutex::new(pipe.into()))
    }

    /// Tells that the call of `caller` is refused with `errno` at `spot`. A failure to tell is ignored: a
    /// refusal does not depend on it.
    pub(super) fn note(&self, caller: CallingThread<'_>, spot: &PinnedName, errno: Errno) {
        let Ok(directory) = mounts::path_of(spot.directory.as_fd()) else { return };
        let place: PathBuf = directory.join(std::ffi::OsStr::from_bytes(spot.bare()));
        self.tell(caller, RefusedObject::Name(place.into()), errno);
    }

    /// Tells that the call of `caller` reached no socket by the path `place`, and got `errno`.
    pub(super) fn note_socket(&self, caller: CallingThread<'_>, place: &Path, errno: Errno) {
        self.tell(caller, RefusedObject::Socket(place.into()), errno);
    }

    /// Tells that the call of `caller` is refused with `errno` at `object`.
    pub(super) fn tell(&self, caller: CallingThread<'_>, object: RefusedObject, errno: Errno) {
        let status = caller.status().ok();
        let program = status.and_then(|status| caller.program(status.shown));
        let call = RefusedCall {
            name: caller.call_name().to_owned(),
            errno: errno as i32,
            object,
            pid: status.map(|status| status.process.as_raw()),
            program,
            at_ns: sys::monotonic_ns(),
        };
        let Ok(line) = call.encode() else { return };
        // The reader waits for nothing but this and the command, so the pipe never stays full.
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _untold = pipe.write_all(&line);
    }
}
