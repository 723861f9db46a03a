//! The refusals of calls, told to the supervisor through a pipe as they are made ([`RefusalLog`]).

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;

use super::caller::CallingThread;
use super::mounts;
use super::refused_processes::RefusedProcesses;
use super::walk::PinnedName;
use crate::control::{RefusalNotice, RefusedCall, RefusedObject};
use crate::sys;

/// The writing end of the pipe, and the processes that it tells of.
#[derive(Debug)]
pub(super) struct RefusalLog {
    pipe: Mutex<File>,
    processes: Mutex<RefusedProcesses>,
}

impl RefusalLog {
    /// Creates the log that goes to `pipe`.
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Mutex::new(pipe.into()), processes: Mutex::default() }
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
        if let Some(status) = status.filter(|_| !caller.is_foreign()) {
            unpoisoned(&self.processes).add(status.shown);
        }
        let program = status.and_then(|status| caller.program(status.shown));
        let call = RefusedCall {
            name: caller.call_name().to_owned(),
            errno: errno as i32,
            object,
            pid: status.map(|status| status.process.as_raw()),
            program,
            at_ns: sys::monotonic_ns(),
        };
        self.write(&RefusalNotice::Call(call));
    }

    /// Tells that a call could not be looked at.
    pub(super) fn note_unseen(&self) {
        self.write(&RefusalNotice::Unseen);
    }

    /// Returns whether a refusal was told.
    pub(super) fn has_told(&self) -> bool {
        !unpoisoned(&self.processes).is_empty()
    }

    /// Notes that `caller` makes something else, after what it was refused.
    pub(super) fn note_progress(&self, caller: CallingThread<'_>) {
        if let Ok(status) = caller.status() {
            unpoisoned(&self.processes).note_progress(status.shown);
        }
    }

    /// Tells, when the command has failed, what became of the processes.
    pub(super) fn conclude(&self) {
        let fates = unpoisoned(&self.processes).fates();
        fates.into_iter().for_each(|fate| self.write(&RefusalNotice::Fate(fate)));
    }

    fn write(&self, notice: &RefusalNotice) {
        let Ok(line) = notice.encode() else { return };
        // The reader waits for nothing but this and the command, so the pipe never stays full.
        let _untold = unpoisoned(&self.pipe).write_all(&line);
    }
}

fn unpoisoned<T>(locked: &Mutex<T>) -> MutexGuard<'_, T> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_call_that_could_not_be_looked_at_is_told() {
        let (reader, writer) = nix::unistd::pipe().unwrap();
        RefusalLog::new(writer).note_unseen();
        let mut told = Vec::new();
        File::from(reader).read_to_end(&mut told).unwrap();
        let line = told.strip_suffix(b"\n").unwrap();
        assert_eq!(RefusalNotice::decode(line), Some(RefusalNotice::Unseen));
    }
}
