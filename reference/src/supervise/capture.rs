//! One captured stream: its first bytes are kept, the rest is counted out.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use crate::sys;

/// Bytes kept of each captured stream.
pub const CAPTURE_CAP: usize = 1 << 20;
/// The number of bytes read at once: the capacity of an ordinary pipe.
pub(super) const CHUNK: usize = 1 << 16;
/// Bytes that the pipe of a busy stream is made to hold.
const BULK: usize = 1 << 20;

/// A stream, and its captured bytes so far.
#[derive(Debug)]
pub(super) struct StreamCapture {
    pipe: File,
    kept: Vec<u8>,
    truncated: bool,
    is_bulky: bool,
    /// The sink that bytes past the cap are spliced to; `None` where that cannot be done.
    abyss: Option<File>,
}

/// The result of one read of the pipe.
pub(super) enum PullResult {
    /// Nothing for now.
    Nothing,
    /// The number of bytes read, and the number of them in the caller's buffer.
    Bytes(usize, usize),
    /// Nothing any more.
    End,
}

impl StreamCapture {
    /// Captures the output of `pipe`, which never blocks.
    pub(super) fn new(pipe: File) -> Self {
        Self { pipe, kept: Vec::new(), truncated: false, is_bulky: false, abyss: None }
    }

    /// Takes in the bytes of one call, so that an endless writer cannot block the loop. `shown`:
    /// all bytes are wanted in `buffer`, beyond the kept ones too.
    pub(super) fn pull(&mut self, buffer: &mut [u8], shown: bool) -> io::Result<PullResult> {
        let full = self.kept.len() == CAPTURE_CAP && !shown;
        let pulled = match full.then(|| self.discard()).flatten() {
            Some(discarded) => discarded?,
            None => self.read(buffer)?,
        };
        if let PullResult::Bytes(length, in_buffer) = pulled {
            self.keep(&buffer[..in_buffer]);
            self.truncated |= in_buffer < length;
            self.grow(length);
        }
        Ok(pulled)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<PullResult> {
        match self.pipe.read(buffer) {
            Ok(0) => Ok(PullResult::End),
            Ok(length) => Ok(PullResult::Bytes(length, length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(PullResult::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(PullResult::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Discards the content of the pipe; `None` where the kernel cannot.
    fn discard(&mut self) -> Option<io::Result<PullResult>> {
        if self.abyss.is_none() {
            self.abyss = File::options().write(true).open("/dev/null").ok();
        }
        let abyss = self.abyss.as_ref()?;
        Some(match sys::discard(&self.pipe, abyss, BULK)? {
            Ok(0) => Ok(PullResult::End),
            Ok(length) => Ok(PullResult::Bytes(length, 0)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(PullResult::Nothing),
            Err(errno) => Err(errno.into()),
        })
    }

    fn keep(&mut self, bytes: &[u8]) {
        let most = if fault!("supervise.capture-short") { CHUNK } else { CAPTURE_CAP };
        let room = most.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend(&bytes[..room]);
        self.truncated |= room < bytes.len();
    }

    /// Enlarges the pipe of a writer that fills it: fewer turns for both. Other pipes keep their
    /// size, as an ordinary user has few pages for pipes.
    fn grow(&mut self, pulled: usize) {
        if pulled >= CHUNK && !self.is_bulky {
            self.is_bulky = true;
            sys::enlarge(&self.pipe, BULK as i32);
        }
    }

    /// The bytes kept, and whether there were more.
    pub(super) fn into_kept(self) -> (Vec<u8>, bool) {
        (self.kept, self.truncated && !fault!("supervise.never-truncated"))
    }
}

impl AsFd for StreamCapture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
