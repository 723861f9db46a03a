//! A file whose directory is held open, so that no command moves it: [`HeldFile`].

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::plain_file;

/// A file, there or not, by its directory's descriptor: a change to the names that lead to the
/// directory has no effect on it.
#[derive(Debug)]
pub(super) struct HeldFile {
    directory: File,
    name: OsString,
    path: PathBuf,
}

impl HeldFile {
    /// Opens the directory of `path`.
    ///
    /// # Errors
    /// The errno of open(2), or that `path` names no file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
        let directory = OpenOptions::new().read(true).custom_flags(flags).open(directory)?;
        Ok(Self { directory, name: name.to_owned(), path: path.to_owned() })
    }

    /// Its path when its directory was opened.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads at most `limit` bytes of it.
    ///
    /// # Errors
    /// Those of [`plain_file::read_at`].
    pub(super) fn read(&self, limit: u64) -> io::Result<Vec<u8>> {
        plain_file::read_at(&self.directory, &self.name, limit)
    }

    /// Makes it, to be written.
    ///
    /// # Errors
    /// The errno of openat(2): EEXIST where anything of the name is there, a link included.
    pub(super) fn create_new(&self) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(0o666);
        Ok(openat(&self.directory, self.name.as_os_str(), flags, mode)?.into())
    }

    /// Removes it, if it is there.
    pub(super) fn remove(&self) {
        let _ = unlinkat(&self.directory, Path::new(&self.name), UnlinkatFlags::NoRemoveDir);
    }
}
