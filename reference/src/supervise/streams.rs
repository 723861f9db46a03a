//! The command's standard streams: passed on untouched, fed from bytes, or captured up to a cap.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boxproof_cases::protocol::Stdin;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};

/// Bytes kept of each captured stream.
pub(crate) const CAPTURE_CAP: usize = 1 << 20;
/// Bytes moved at once.
const CHUNK: usize = 1 << 16;

/// What was captured of stdout and stderr.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// The first bytes of stdout.
    pub(crate) stdout: Vec<u8>,
    /// The first bytes of stderr.
    pub(crate) stderr: Vec<u8>,
    /// Whether more than that was written.
    pub(crate) truncated: bool,
}

/// Our ends of the command's streams.
#[derive(Debug, Default)]
pub(crate) struct Ours {
    feed: Option<Feed>,
    stdin_error: Option<io::Error>,
    captures: Vec<Capture>,
}

#[derive(Debug)]
struct Feed {
    pipe: File,
    rest: Vec<u8>,
}

#[derive(Debug)]
struct Capture {
    pipe: Option<File>,
    kept: Vec<u8>,
    truncated: bool,
}

/// Makes the command's stdin, stdout and stderr, and our ends of them.
pub(crate) fn plumb(stdin: &Stdin, capture: bool) -> io::Result<([OwnedFd; 3], Ours)> {
    let mut ours = Ours::default();
    let input = match stdin {
        Stdin::Inherit => duplicate(io::stdin().as_fd())?,
        Stdin::Null => File::open("/dev/null")?.into(),
        Stdin::BytesB64(text) => {
            let (read, write) = pipe()?;
            let rest = STANDARD.decode(text).map_err(io::Error::other)?;
            ours.feed = Some(Feed { pipe: nonblocking(write)?, rest });
            read
        }
    };
    let mut output = |inherited: OwnedFd| -> io::Result<OwnedFd> {
        if !capture {
            return Ok(inherited);
        }
        let (read, write) = pipe()?;
        let pipe = Some(nonblocking(read)?);
        ours.captures.push(Capture { pipe, kept: Vec::new(), truncated: false });
        Ok(write)
    };
    let stdout = output(duplicate(io::stdout().as_fd())?)?;
    let stderr = output(duplicate(io::stderr().as_fd())?)?;
    ours.serve()?;
    Ok(([input, stdout, stderr], ours))
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(nix::unistd::pipe2(OFlag::O_CLOEXEC)?)
}

/// Never below 3, so that the number can be handed through a helper that has streams of its own.
fn duplicate(fd: impl AsFd) -> io::Result<OwnedFd> {
    fd.as_fd().try_clone_to_owned()
}

fn nonblocking(fd: OwnedFd) -> io::Result<File> {
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(File::from(fd))
}

impl Ours {
    /// What the loop has to watch for us.
    pub(super) fn polled(&self) -> impl Iterator<Item = PollFd<'_>> {
        let feed = self.feed.iter().map(|feed| PollFd::new(feed.pipe.as_fd(), PollFlags::POLLOUT));
        let pipes = self.captures.iter().filter_map(|capture| capture.pipe.as_ref());
        feed.chain(pipes.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)))
    }

    /// Moves what can be moved without waiting.
    pub(super) fn serve(&mut self) -> io::Result<()> {
        if let Some(feed) = &mut self.feed {
            match feed.push() {
                Ok(false) => {}
                Ok(true) => self.feed = None,
                Err(error) => {
                    self.feed = None;
                    self.stdin_error = Some(error);
                }
            }
        }
        self.captures.iter_mut().try_for_each(Capture::pull)
    }

    /// Takes in what is left in the pipes; nobody writes any more.
    pub(super) fn finish(mut self) -> io::Result<(Option<Captured>, Option<io::Error>)> {
        self.feed = None;
        self.serve()?;
        let mut captures = self.captures.into_iter();
        let captured = captures.next().zip(captures.next()).map(|(stdout, stderr)| Captured {
            truncated: stdout.truncated || stderr.truncated,
            stdout: stdout.kept,
            stderr: stderr.kept,
        });
        Ok((captured, self.stdin_error))
    }
}

impl Feed {
    /// Writes on; true when all is written, or nobody reads it any more.
    fn push(&mut self) -> io::Result<bool> {
        while !self.rest.is_empty() {
            match self.pipe.write(&self.rest) {
                Ok(written) => drop(self.rest.drain(..written)),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(false),
                    io::ErrorKind::Interrupted => {}
                    // A command need not read all of its input.
                    io::ErrorKind::BrokenPipe => return Ok(true),
                    _ => return Err(error),
                },
            }
        }
        Ok(true)
    }
}

impl Capture {
    /// Reads on until the pipe is empty or closed; keeps up to the cap.
    fn pull(&mut self) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(length) => self.keep(&chunk[..length]),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(()),
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = (CAPTURE_CAP - self.kept.len()).min(bytes.len());
        self.kept.extend(&bytes[..room]);
        self.truncated |= room < bytes.len();
    }
}
