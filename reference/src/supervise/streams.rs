//! The command's standard streams: passed on untouched, fed from bytes, or captured up to a cap.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::capture::{CAPTURE_CAP, CHUNK, PullResult, StreamCapture};
use super::sources::{SourcePoller, SourceSet};
use super::stdin_feed::StdinFeed;
use super::tee::StreamTee;
use crate::policy::redact::SecretValues;

/// The input of the command at descriptor 0.
pub(crate) enum StdinSource {
    /// Our own descriptor 0.
    Inherit,
    /// `/dev/null`.
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
}

/// The destination of descriptors 1 and 2.
pub(crate) enum OutputMode {
    /// They are ours.
    Inherit,
    /// They are captured.
    Capture,
    /// They are captured, and shown on our stderr but for these.
    CaptureAndShow(SecretValues),
}

/// The captured stdout and stderr.
#[derive(Debug, Default)]
pub(crate) struct CapturedOutput {
    /// The first bytes of stdout.
    pub(crate) stdout: Vec<u8>,
    /// The first bytes of stderr.
    pub(crate) stderr: Vec<u8>,
    /// More than that was written to stdout, to stderr.
    pub(crate) truncated: [bool; 2],
}

/// The captured streams in order, and their sources.
const OUTPUTS: [SourceSet; 2] = [SourceSet::STDOUT, SourceSet::STDERR];
/// Their names in a message about a failed read.
const NAMES: [&str; 2] = ["stdout", "stderr"];

/// Our ends of the command's streams.
#[derive(Default)]
pub(crate) struct StreamEnds {
    feed: Option<StdinFeed>,
    stdin_error: Option<io::Error>,
    /// Stdout and stderr, if they are captured.
    captures: Vec<StreamCapture>,
    /// The streams that are at their end.
    ended: [bool; 2],
    tee: Option<StreamTee>,
    buffer: Vec<u8>,
}

/// Makes the command's stdin, stdout and stderr, and our ends of them.
pub(crate) fn plumb(
    input: StdinSource,
    output: OutputMode,
) -> io::Result<([OwnedFd; 3], StreamEnds)> {
    let mut ours = StreamEnds::default();
    let stdin = match input {
        StdinSource::Inherit => duplicate(io::stdin())?,
        StdinSource::Null if fault!("supervise.null-stdin-inherited") => duplicate(io::stdin())?,
        StdinSource::Null => File::open("/dev/null")?.into(),
        StdinSource::Bytes(bytes) => {
            let (read, write) = pipe()?;
            ours.feed = Some(StdinFeed::new(nonblocking(write)?, bytes));
            read
        }
    };
    drop(ours.push());
    let streams = match output {
        OutputMode::Inherit => [stdin, duplicate(io::stdout())?, duplicate(io::stderr())?],
        OutputMode::Capture if fault!("supervise.streams-merged") => {
            let stdout = ours.capture()?;
            let stderr = stdout.try_clone()?;
            drop(ours.capture()?);
            [stdin, stdout, stderr]
        }
        OutputMode::Capture => [stdin, ours.capture()?, ours.capture()?],
        OutputMode::CaptureAndShow(secrets) => {
            ours.tee = Some(StreamTee::new(duplicate(io::stderr())?, secrets));
            [stdin, ours.capture()?, ours.capture()?]
        }
    };
    Ok((streams, ours))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = io::pipe()?;
    Ok((read.into(), write.into()))
}

/// Never below 3, so that the number can be handed through a helper that has streams of its own.
fn duplicate(fd: impl AsFd) -> io::Result<OwnedFd> {
    fd.as_fd().try_clone_to_owned()
}

fn nonblocking(fd: OwnedFd) -> io::Result<File> {
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(File::from(fd))
}

impl StreamEnds {
    fn capture(&mut self) -> io::Result<OwnedFd> {
        let (read, write) = pipe()?;
        self.captures.push(StreamCapture::new(nonblocking(read)?));
        self.buffer.resize(CHUNK, 0);
        Ok(write)
    }

    /// Adds our ends of the streams to the poller.
    pub(super) fn watch(&self, watch: &SourcePoller) -> io::Result<()> {
        let outputs = self.captures.iter().zip(OUTPUTS);
        outputs.into_iter().try_for_each(|(capture, source)| watch.readable(capture, source))?;
        self.feed.iter().try_for_each(|feed| watch.writable(feed, SourceSet::STDIN))
    }

    /// Moves the bytes that can be moved without blocking.
    pub(super) fn serve(&mut self, watch: &SourcePoller, ready: SourceSet) -> io::Result<()> {
        if ready.has(SourceSet::STDIN) {
            self.feed(watch)?;
        }
        if ready.has(SourceSet::TEE) {
            self.catch_up(watch)?;
        }
        for (stream, source) in OUTPUTS.into_iter().enumerate().take(self.captures.len()) {
            if ready.has(source) && !self.is_behind() {
                self.pull(stream)?;
                self.look_after(watch, stream)?;
            }
        }
        Ok(())
    }

    fn is_behind(&self) -> bool {
        self.tee.as_ref().is_some_and(StreamTee::is_behind)
    }

    fn feed(&mut self, watch: &SourcePoller) -> io::Result<()> {
        let over = self.push();
        over.map_or(Ok(()), |feed| watch.forget(&feed))
    }

    /// Feeds on; gives back the feed once it is over. A command that does not take its input ends
    /// the feed, not the run.
    fn push(&mut self) -> Option<StdinFeed> {
        match self.feed.as_mut()?.push() {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => self.stdin_error = Some(error),
        }
        self.feed.take()
    }

    /// Reads one stream; returns the number of bytes.
    fn pull(&mut self, stream: usize) -> io::Result<usize> {
        let pulled = self.captures[stream].pull(&mut self.buffer, self.tee.is_some());
        match pulled.map_err(|error| unreadable(stream, &error))? {
            PullResult::Nothing => Ok(0),
            PullResult::End => {
                self.ended[stream] = true;
                Ok(0)
            }
            PullResult::Bytes(length, in_buffer) => {
                if let Some(tee) = &mut self.tee
                    && !(fault!("supervise.debug-stdout") && stream == 0)
                {
                    tee.push(stream, &self.buffer[..in_buffer])?;
                }
                Ok(length)
            }
        }
    }

    /// No longer watches a stream at its end; nor any while its reader on our stderr is behind.
    fn look_after(&self, watch: &SourcePoller, stream: usize) -> io::Result<()> {
        if self.ended[stream] {
            watch.forget(&self.captures[stream])?;
        }
        match &self.tee {
            Some(tee) if tee.is_behind() => {
                self.open().try_for_each(|(capture, _)| watch.forget(capture))?;
                watch.writable(tee, SourceSet::TEE)
            }
            _ => Ok(()),
        }
    }

    fn catch_up(&mut self, watch: &SourcePoller) -> io::Result<()> {
        let Some(tee) = &mut self.tee else { return Ok(()) };
        tee.write()?;
        if tee.is_behind() {
            return Ok(());
        }
        watch.forget(&*tee)?;
        self.open().try_for_each(|(capture, source)| watch.readable(capture, source))
    }

    /// Captures that are not at their end.
    fn open(&self) -> impl Iterator<Item = (&StreamCapture, SourceSet)> {
        let all = self.captures.iter().zip(OUTPUTS).zip(self.ended);
        all.filter(|(_, ended)| !ended).map(|(open, _)| open)
    }

    /// Returns whether writing the command's stdin failed.
    pub(super) fn stdin_failed(&self) -> bool {
        self.stdin_error.is_some()
    }

    /// Reads the rest of the pipes after the end of the command's processes. The second result is
    /// the error of writing its stdin.
    pub(super) fn finish(mut self) -> io::Result<(Option<CapturedOutput>, Option<io::Error>)> {
        drop(self.push());
        if self.feed.take().is_some() {
            // A process outside the run keeps the pipe open and does not read it either.
            self.stdin_error = Some(Errno::EPIPE.into());
        }
        (0..self.captures.len()).try_for_each(|stream| self.drain(stream))?;
        self.tee.take().map_or(Ok(()), StreamTee::finish)?;
        let mut kept = self.captures.into_iter().map(StreamCapture::into_kept);
        let captured = kept.next().zip(kept.next()).map(|(stdout, stderr)| CapturedOutput {
            truncated: [stdout.1, stderr.1],
            stdout: stdout.0,
            stderr: stderr.0,
        });
        Ok((captured, self.stdin_error))
    }

    /// Reads at most the capacity of a pipe: a writer outside the run may go on for ever.
    fn drain(&mut self, stream: usize) -> io::Result<()> {
        let mut left = CAPTURE_CAP;
        while left > 0 && !self.ended[stream] {
            match self.pull(stream)? {
                0 => break,
                length => left = left.saturating_sub(length),
            }
        }
        Ok(())
    }
}

fn unreadable(stream: usize, error: &io::Error) -> io::Error {
    io::Error::other(format!("failed to read process {}: {error}", NAMES[stream]))
}
