//! The changes of this process's children, as a descriptor that wakes a poll. Main type: [`ChildChanges`].

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::signal::Signal;
use signal_hook::{SigId, low_level};

/// Tells when a child has been stopped, while this lives.
pub(super) struct ChildChanges {
    pub(super) line: UnixStream,
    id: SigId,
    /// Both ends.
    pub(super) ends: [RawFd; 2],
}

impl ChildChanges {
    pub(super) fn watch() -> io::Result<Self> {
        let (line, write) = UnixStream::pair()?;
        line.set_nonblocking(true)?;
        let ends = [line.as_raw_fd(), write.as_raw_fd()];
        let id = low_level::pipe::register(Signal::SIGCHLD as i32, write)?;
        Ok(Self { line, id, ends })
    }

    /// Returns whether something has changed since the last call.
    pub(super) fn came(&self) -> bool {
        let mut line = &self.line;
        let mut came = false;
        while matches!(line.read(&mut [0; 64]), Ok(1..)) {
            came = true;
        }
        came
    }
}

impl Drop for ChildChanges {
    fn drop(&mut self) {
        low_level::unregister(self.id);
    }
}
