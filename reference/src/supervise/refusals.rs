//! The calls that the inner stage refuses, as it tells of them: [`RefusalFeed`].

use std::fs::File;
use std::io::{self, Read};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::sources::{SourcePoller, SourceSet};
use crate::control::RefusalNotice;

/// The number of bytes read at once, so that an endless writer cannot block the loop.
const CHUNK: usize = 1 << 16;

/// The pipe that refused calls come through, and their reader.
pub(crate) struct RefusalFeed<'a> {
    pipe: File,
    /// The beginning of a line whose end did not come yet.
    begun: Vec<u8>,
    buffer: Vec<u8>,
    ended: bool,
    heed: &'a mut dyn FnMut(RefusalNotice),
}

impl<'a> RefusalFeed<'a> {
    /// Creates the feed that has `heed` take each notice that comes through `pipe`.
    pub(crate) fn new(pipe: File, heed: &'a mut dyn FnMut(RefusalNotice)) -> io::Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { pipe, begun: Vec::new(), buffer: vec![0; CHUNK], ended: false, heed })
    }

    pub(super) fn watch(&self, watch: &SourcePoller) -> io::Result<()> {
        watch.readable(&self.pipe, SourceSet::REFUSALS)
    }

    /// Takes what came, if `ready` says that something did.
    pub(super) fn serve(&mut self, watch: &SourcePoller, ready: SourceSet) -> io::Result<()> {
        if ready.has(SourceSet::REFUSALS) && !self.ended {
            self.take()?;
            if self.ended {
                watch.forget(&self.pipe)?;
            }
        }
        Ok(())
    }

    /// Takes the rest, when nothing is left that could write more.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        while !self.ended && self.take()? {}
        Ok(())
    }

    /// Returns whether something came.
    fn take(&mut self) -> io::Result<bool> {
        let read = match self.pipe.read(&mut self.buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        self.ended = read == 0;
        self.begun.extend_from_slice(&self.buffer[..read]);
        let whole = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = self.begun[..whole].split(|byte| *byte == b'\n');
        lines.filter_map(RefusalNotice::decode).for_each(|notice| (self.heed)(notice));
        self.begun.drain(..whole);
        Ok(true)
    }
}
