//! The live copy of captured streams, redacted, on our own stderr.
//!
//! Where that is not read, the command blocks as if it wrote there itself; the loop never does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::policy::redact::{SecretValues, StreamRedactor};

/// The time for which the rest is offered to a blocked reader, once the command has ended.
pub(crate) const TEE_PATIENCE: Duration = Duration::from_secs(1);
/// The number of bytes written at once: a writable pipe takes so many without blocking
/// (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// Two streams on their way to one place.
pub(super) struct StreamTee {
    sink: OwnedFd,
    secrets: SecretValues,
    redactors: [StreamRedactor; 2],
    waiting: Vec<u8>,
    /// The sink refused a write; nothing is shown any more.
    broken: bool,
}

impl StreamTee {
    /// Shows on `sink`, but not `secrets`.
    pub(super) fn new(sink: OwnedFd, secrets: SecretValues) -> Self {
        Self { sink, secrets, redactors: Default::default(), waiting: Vec::new(), broken: false }
    }

    /// Takes in bytes of stdout (0) or stderr (1).
    pub(super) fn push(&mut self, stream: usize, bytes: &[u8]) -> io::Result<()> {
        self.redactors[stream].push(&self.secrets, bytes, &mut self.waiting);
        self.write()
    }

    /// Returns whether bytes wait for the sink to be writable.
    pub(super) fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes the bytes that can be written without blocking.
    pub(super) fn write(&mut self) -> io::Result<()> {
        self.write_within(Duration::ZERO)
    }

    /// Shows the rest at the end of both streams, unless the reader is blocked.
    pub(super) fn finish(mut self) -> io::Result<()> {
        for redactor in &mut self.redactors {
            redactor.finish(&self.secrets, &mut self.waiting);
        }
        self.write_within(TEE_PATIENCE)
    }

    fn write_within(&mut self, patience: Duration) -> io::Result<()> {
        let mut done = 0;
        while done < self.waiting.len() && !self.broken && is_writable(self.sink.as_fd(), patience)?
        {
            let end = self.waiting.len().min(done + AT_ONCE);
            match nix::unistd::write(&self.sink, &self.waiting[done..end]) {
                Ok(length) => done += length,
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                // A reader that went away misses the show; the run is none of its business.
                Err(_) => self.broken = true,
            }
        }
        match self.broken {
            true => self.waiting.clear(),
            false => drop(self.waiting.drain(..done)),
        }
        Ok(())
    }
}

impl AsFd for StreamTee {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sink.as_fd()
    }
}

/// Returns whether `fd` becomes writable within `patience`.
fn is_writable(fd: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::ZERO);
        match poll(&mut [PollFd::new(fd, PollFlags::POLLOUT)], timeout) {
            Err(Errno::EINTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}
