//! The command's stdin, fed from bytes without ever waiting for the command to read.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes on their way to the command.
#[derive(Debug)]
pub(super) struct StdinFeed {
    pipe: File,
    bytes: Vec<u8>,
    written: usize,
}

impl StdinFeed {
    /// Feeds `bytes` through `pipe`, which never blocks.
    pub(super) fn new(pipe: File, bytes: Vec<u8>) -> Self {
        Self { pipe, bytes, written: 0 }
    }

    /// Writes on; true when all is written.
    pub(super) fn push(&mut self) -> io::Result<bool> {
        let most = if fault!("supervise.stdin-short") { 1 << 16 } else { usize::MAX };
        while self.written < self.bytes.len().min(most) {
            match self.pipe.write(&self.bytes[self.written..]) {
                Ok(length) => self.written += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl AsFd for StdinFeed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
