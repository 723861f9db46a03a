//! The lock on the thread that starts a process beside us: [`ReleasePipe`].

use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

/// The descriptor that a process beside us holds until it releases the thread that waits in
/// [`super::start_beside`]. Its descriptor table is a copy: a descriptor that it closes stays open
/// for that thread.
pub(crate) struct ReleasePipe(RawFd);

impl ReleasePipe {
    /// Held by the descriptor `held`, which is this process's own from its start.
    pub(super) fn at(held: RawFd) -> Self {
        Self(held)
    }

    /// The descriptor that must stay open until then.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.0
    }

    /// Closes this process's copy of `fd`.
    pub(crate) fn close_copy(&self, fd: &OwnedFd) {
        // SAFETY: the owner's descriptor is in another table, and nothing here uses this one.
        unsafe { rustix::io::close(fd.as_raw_fd()) };
    }

    /// Returns this process's copy of `fd`, for use when `fd` itself may be closed.
    pub(crate) fn copy(&self, fd: &OwnedFd) -> ManuallyDrop<OwnedFd> {
        // SAFETY: the number is open in this process's table, and no other owner uses it here.
        ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(fd.as_raw_fd()) })
    }

    /// Releases the waiting thread. Borrows from that thread must not be used after this.
    pub(crate) fn let_go(self) {
        // SAFETY: the number is this process's own copy, and nothing uses it after us.
        unsafe { rustix::io::close(self.0) };
    }
}

/// Closes `fd` by a bare system call.
pub(crate) fn close_bare(fd: OwnedFd) {
    // SAFETY: the descriptor was owned, and its owner is gone.
    unsafe { rustix::io::close(fd.into_raw_fd()) };
}
