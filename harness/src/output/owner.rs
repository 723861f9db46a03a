//! Owner of a directory, and acting as that user: [`DirectoryOwner`].

use std::io::{self, Read, Write};

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Gid, Uid, User};

use crate::sys;

/// The group of a user who has no account: one that has no rights anywhere.
const NO_GROUP: u32 = 65_534;

/// A user who owns a directory that root is asked to write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryOwner {
    pub(super) uid: Uid,
    gid: Gid,
}

impl DirectoryOwner {
    pub(super) fn for_uid(uid: Uid) -> Self {
        let account = User::from_uid(uid).ok().flatten();
        let gid = account.map_or(Gid::from_raw(NO_GROUP), |user| user.gid);
        Self { uid, gid }
    }

    /// Returns what `body` returns, which a process does that has become `owner` for good; without
    /// one, this process does. Call while the process has one thread.
    ///
    /// # Errors
    /// Those of `body`, and what keeps the process from being made.
    pub(super) fn act(
        owner: Option<&Self>,
        body: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<Vec<u8>> {
        let Some(owner) = owner else { return body() };
        let (mut answer, mut told) = io::pipe()?;
        let pid = sys::fork(|| {
            let done = sys::become_owner(owner.uid, owner.gid).and_then(|()| body());
            let (code, bytes) = match done {
                Ok(bytes) => (0, bytes),
                Err(error) => (error.raw_os_error().unwrap_or(FAILED), error.to_string().into()),
            };
            match told.write_all(&bytes) {
                Ok(()) => code,
                Err(_) => FAILED,
            }
        })?;
        drop(told);
        let mut bytes = Vec::new();
        let read = answer.read_to_end(&mut bytes);
        let status = waitpid(pid, None)?;
        read?;
        match status {
            WaitStatus::Exited(_, 0) => Ok(bytes),
            WaitStatus::Exited(_, FAILED) => {
                Err(io::Error::other(String::from_utf8_lossy(&bytes).into_owned()))
            }
            WaitStatus::Exited(_, errno) => {
                let error = io::Error::from_raw_os_error(errno);
                Err(io::Error::new(error.kind(), format!("{error}, as uid {}", owner.uid)))
            }
            other => Err(io::Error::other(format!("the process of uid {}: {other:?}", owner.uid))),
        }
    }
}

/// Exit code of a process that failed without an errno; no errno has this number.
const FAILED: i32 = 255;
