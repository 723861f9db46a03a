//! One file, or stream, that a user named as an output: [`OutputTarget`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};

use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::{FileStat, SFlag};

use super::directory::{is, is_ours, is_same};
use super::{OutputDirectory, located};

/// The most links in a row at the end of a path.
const LINKS: usize = 8;
/// Paths that name a descriptor of this process.
const DESCRIPTORS: [&str; 2] = ["/dev/fd/", "/proc/self/fd/"];

/// The destination of an output.
#[derive(Debug)]
pub(crate) enum OutputTarget {
    /// A pipe, a terminal or another device, which was there.
    Stream(PathBuf, File),
    /// A file of this name, which is made anew.
    File(OutputDirectory, OsString),
}

impl OutputTarget {
    /// Opens the output at `path`. A pipe needs its reader; for a file its directory is opened.
    ///
    /// # Errors
    /// With the path: an object that cannot be opened or is no output, and a link that another user
    /// can have made.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::follow(path, LINKS)
    }

    fn follow(path: &Path, links: usize) -> io::Result<Self> {
        let fault = |text: &str| located(path, &io::Error::other(text));
        if let Some(stream) = own_stream(path) {
            let stream = stream.map_err(|error| located(path, &error))?;
            return Ok(Self::Stream(path.to_owned(), stream));
        }
        let name = path.file_name().ok_or_else(|| fault("it names no file"))?;
        let directory = OutputDirectory::open(path.parent().unwrap_or(Path::new("")))?;
        let Some(stat) = directory.stat(name)? else {
            return Ok(Self::File(directory, name.to_owned()));
        };
        if is(&stat, SFlag::S_IFREG) {
            return Ok(Self::File(directory, name.to_owned()));
        }
        let ours = directory.is_trusted() || !directory.is_of_another() && is_ours(&stat);
        let pipe_or_device = is(&stat, SFlag::S_IFIFO) || is(&stat, SFlag::S_IFCHR);
        match ours {
            false if is(&stat, SFlag::S_IFLNK) || pipe_or_device => {
                Err(fault("another user can have put that there, and it is no file"))
            }
            _ if is(&stat, SFlag::S_IFLNK) && links == 0 => Err(fault("too many links")),
            _ if is(&stat, SFlag::S_IFLNK) => {
                let link = directory.link(name).map_err(|error| located(path, &error))?;
                Self::follow(&directory.join(&link), links - 1)
            }
            _ if pipe_or_device => {
                let stream = open_stream(&directory, name, &stat);
                Ok(Self::Stream(path.to_owned(), stream.map_err(|error| located(path, &error))?))
            }
            _ => Err(fault("neither a file nor a pipe")),
        }
    }

    /// Makes sure that a file can be made; does nothing for a stream.
    ///
    /// # Errors
    /// Returns an error when it cannot, with the path.
    pub(crate) fn try_new(&self) -> io::Result<()> {
        match self {
            Self::Stream(..) => Ok(()),
            Self::File(directory, name) => directory.try_new(name),
        }
    }

    /// Writes `bytes` as the whole of the file, or into the stream.
    ///
    /// # Errors
    /// Returns an error when they cannot be written, with the path.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stream(path, stream) => {
                stream.write_all(bytes).map_err(|error| located(path, &error))
            }
            Self::File(directory, name) => directory.replace(name, bytes, 0o666),
        }
    }

    /// Returns the content of the file, of at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error when it is a stream, absent, too long, or its owner cannot read it; with
    /// the path.
    pub(crate) fn read(&self, limit: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::Stream(path, _) => Err(located(path, &io::Error::other("not a plain file"))),
            Self::File(directory, name) => directory.read(name, limit),
        }
    }

    /// Returns whether a file of the name is there.
    ///
    /// # Errors
    /// Returns an error when that cannot be seen, with the path.
    pub(crate) fn exists(&self) -> io::Result<bool> {
        match self {
            Self::Stream(..) => Ok(true),
            Self::File(directory, name) => Ok(directory.stat(name)?.is_some()),
        }
    }

    /// Removes the file; that it is not there is no error.
    ///
    /// # Errors
    /// Returns an error when it cannot be removed, with the path.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match self {
            Self::Stream(..) => Ok(()),
            Self::File(directory, name) => directory.remove(name),
        }
    }
}

/// The descriptor of this process that `path` names.
fn own_stream(path: &Path) -> Option<io::Result<File>> {
    use std::os::fd::AsFd;
    let copy = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from);
    let number = DESCRIPTORS.iter().find_map(|prefix| path.to_str()?.strip_prefix(prefix));
    match (path.to_str()?, number) {
        ("/dev/stdout", _) | (_, Some("1")) => Some(copy(io::stdout().as_fd())),
        ("/dev/stderr", _) | (_, Some("2")) => Some(copy(io::stderr().as_fd())),
        (_, Some(number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(File::options().write(true).open(path))
        }
        _ => None,
    }
}

/// Opens the pipe or device called `name`, of which `stat` is.
fn open_stream(directory: &OutputDirectory, name: &OsStr, stat: &FileStat) -> io::Result<File> {
    let stream = directory.open_entry(name, OFlag::O_WRONLY).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::ENXIO) => io::Error::other("nothing reads from it: start its reader first"),
            _ => error,
        }
    })?;
    if !is_same(&stream, stat) {
        return Err(io::Error::other("it was replaced meanwhile"));
    }
    let flags = OFlag::from_bits_truncate(fcntl(&stream, FcntlArg::F_GETFL)?);
    fcntl(&stream, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(stream)
}
