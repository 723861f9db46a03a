//! The events of a run for a caller that follows it, a line of JSON each, on a descriptor of the
//! caller's ([`LiveStream`]). A reader that is slow loses lines, which are counted; the run never waits.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, RawFd};

use boxproof_cases::protocol::DenialEvent;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

use crate::error::Refusal;
use crate::sys;

/// The first descriptor that can be the caller's.
const FIRST: RawFd = 3;
/// Bytes of a line at most: as many as a pipe takes at once or not at all.
const LONGEST: usize = 4096;

/// A line in the place of those that had no room.
#[derive(Serialize)]
struct DroppedLines {
    dropped: u64,
}

/// The descriptor that events go to.
#[derive(Debug)]
pub(super) struct LiveStream {
    file: File,
    dropped: u64,
    /// Nothing reads it any more.
    closed: bool,
}

impl LiveStream {
    /// Opens the descriptor `number`, as the member `run.events_fd` names it.
    pub(super) fn open(number: RawFd) -> Result<Self, Refusal> {
        let refused = |why: &str| Err(Refusal::invalid(format!("run.events_fd: {number} {why}")));
        if number < FIRST {
            return refused("is a standard stream of the command; use 3 or more");
        }
        let Ok(file) = sys::copy_inherited(number) else {
            return refused("is not open; open it for writing before the call");
        };
        let flags = fcntl(&file, FcntlArg::F_GETFL).map(OFlag::from_bits_retain);
        let flags = flags.unwrap_or(OFlag::empty());
        // A descriptor of O_PATH has this mode as well.
        if flags & OFlag::O_ACCMODE == OFlag::O_RDONLY {
            return refused("is not open for writing");
        }
        Ok(Self { file: file.into(), dropped: 0, closed: false })
    }

    /// Returns whether a line has room now; one that has none is counted.
    pub(super) fn has_room(&mut self) -> bool {
        let room = !self.closed && is_writable(self.file.as_fd());
        self.dropped += u64::from(!room);
        room
    }

    /// Writes the line of `event`, behind the number of those that had no room before.
    pub(super) fn write(&mut self, event: &DenialEvent) {
        self.tell_dropped();
        let line = serde_json::to_vec(event).unwrap_or_default();
        match self.dropped == 0 && is_writable(self.file.as_fd()) {
            true => self.put(line),
            false => self.dropped += 1,
        }
    }

    /// Ends the stream, with the number of lines that had no room at last.
    pub(super) fn finish(mut self) {
        if is_writable(self.file.as_fd()) {
            self.tell_dropped();
        }
    }

    fn tell_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            self.put(serde_json::to_vec(&DroppedLines { dropped }).unwrap_or_default());
        }
    }

    fn put(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        // A longer one could be written in part, and then wait.
        match line.len() <= LONGEST {
            true => self.closed |= self.file.write_all(&line).is_err(),
            false => self.dropped += 1,
        }
    }
}

/// Returns whether a whole line can be written without waiting.
fn is_writable(file: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(file, PollFlags::POLLOUT)];
    let found = poll(&mut polled, PollTimeout::ZERO);
    let lost = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    let ready = |seen: PollFlags| seen.contains(PollFlags::POLLOUT) && !seen.intersects(lost);
    found.is_ok() && polled[0].revents().is_some_and(ready)
}
