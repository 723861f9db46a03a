//! A directory that files are read from and written to by descriptor: [`OutputDirectory`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::located;
use super::owner::DirectoryOwner;
use super::resolve::{AbsentDirectory, ResolvedDirectory, mode as mode_of, resolve};
use crate::sys;

/// An open directory, with the path it was named by.
#[derive(Debug)]
pub(crate) struct OutputDirectory {
    path: PathBuf,
    resolved: ResolvedDirectory,
}

impl OutputDirectory {
    /// Opens the directory at `path`.
    ///
    /// # Errors
    /// As [`resolve`], with the path.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::resolved(path, AbsentDirectory::Refuse)
    }

    /// Opens the directory at `path`, and makes it where it is not there.
    ///
    /// # Errors
    /// As [`resolve`], with the path.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        Self::resolved(path, AbsentDirectory::Make)
    }

    fn resolved(path: &Path, absent: AbsentDirectory) -> io::Result<Self> {
        let resolved = resolve(path, absent).map_err(|error| located(path, &error))?;
        Ok(Self { path: path.to_owned(), resolved })
    }

    /// Returns the path of the entry called `name`.
    pub(crate) fn join(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn is_trusted(&self) -> bool {
        self.resolved.trusted
    }

    pub(super) fn is_of_another(&self) -> bool {
        self.resolved.owner.is_some()
    }

    /// Returns the status of the entry `name`, of a link itself; none where no such entry is.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<FileStat>> {
        match fstatat(&self.resolved.fd, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(located(&self.join(name), &errno.into())),
        }
    }

    /// Returns the target of the link called `name`.
    pub(super) fn link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(readlinkat(&self.resolved.fd, name)?)
    }

    /// Opens what is called `name` and is no link, without waiting.
    pub(super) fn open_entry(&self, name: &OsStr, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let fd = openat(&self.resolved.fd, name, flags | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(File::from(fd))
    }

    /// Returns the names in it, sorted.
    ///
    /// # Errors
    /// Returns an error when it cannot be listed.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStrExt;
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let listed = Dir::openat(&self.resolved.fd, ".", flags, Mode::empty());
        let entries = listed.map_err(|errno| located(&self.path, &errno.into()))?;
        let names = entries.into_iter().map(|entry| {
            entry.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        });
        let mut names: Vec<OsString> = names.collect::<Result<_, _>>()?;
        names.retain(|name| name != "." && name != "..");
        names.sort();
        Ok(names)
    }

    /// Returns the content of the plain file called `name`, of at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error when it is no plain file, or its owner cannot read it.
    pub(crate) fn read(&self, name: &OsStr, limit: u64) -> io::Result<Vec<u8>> {
        let read = || {
            let file = self.open_entry(name, OFlag::O_RDONLY)?;
            if !file.metadata()?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"));
            }
            let mut bytes = Vec::new();
            file.take(limit + 1).read_to_end(&mut bytes)?;
            match bytes.len() as u64 > limit {
                true => Err(io::Error::other(format!("more than {limit} bytes"))),
                false => Ok(bytes),
            }
        };
        let read = DirectoryOwner::act(self.resolved.owner.as_ref(), read);
        read.map_err(|error| located(&self.join(name), &error))
    }

    /// Replaces the entry `name`, of any type, by a new file with `bytes`. The mode is that of the
    /// plain file that was there, else `mode` as far as the umask lets it.
    ///
    /// # Errors
    /// A file that cannot be made, or a directory that is another one by now; with the path.
    pub(crate) fn replace(&self, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
        let write = || self.write_new(name, bytes, mode).map(|()| Vec::new());
        DirectoryOwner::act(self.resolved.owner.as_ref(), write)
            .and_then(|_| self.still_there())
            .map_err(|error| located(&self.join(name), &error))
    }

    /// Writes `bytes` as a new file called `name`.
    ///
    /// # Errors
    /// As [`Self::replace`], and where something is called so already.
    pub(crate) fn create(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        if self.stat(name)?.is_some() {
            let error = io::Error::other("is there already, and is not overwritten");
            return Err(located(&self.join(name), &error));
        }
        self.replace(name, bytes, 0o666)
    }

    /// Makes a file and removes it again, to learn whether one can be made.
    ///
    /// # Errors
    /// Returns an error when it cannot; with the path of `name`.
    pub(crate) fn try_new(&self, name: &OsStr) -> io::Result<()> {
        let make = || {
            let (_, draft) = self.draft(0o600)?;
            self.unlink(&draft).map(|()| Vec::new())
        };
        DirectoryOwner::act(self.resolved.owner.as_ref(), make)
            .map(drop)
            .map_err(|error| located(&self.join(name), &error))
    }

    /// Removes the file called `name`; that nothing is called so is no error.
    ///
    /// # Errors
    /// Returns an error when it cannot be removed; with the path.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        let removed = DirectoryOwner::act(self.resolved.owner.as_ref(), || {
            self.unlink(name).map(|()| Vec::new())
        });
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(located(&self.join(name), &error))
            }
            _ => Ok(()),
        }
    }

    fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.resolved.fd, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// A new file under a name that nothing had.
    fn draft(&self, mode: u32) -> io::Result<(File, OsString)> {
        let name = OsString::from(format!(".boxproof-{}", sys::random::<8>()?));
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        #[allow(clippy::unnecessary_cast, reason = "16 bits wide on macOS")]
        let mode = Mode::from_bits_truncate(mode as libc::mode_t);
        let fd = openat(&self.resolved.fd, &*name, flags | OFlag::O_CLOEXEC, mode)?;
        Ok((File::from(fd), name))
    }

    fn write_new(&self, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
        let kept = self.stat(name)?.filter(|stat| is(stat, SFlag::S_IFREG));
        let (mut file, draft) = self.draft(mode)?;
        let mut write = || {
            if let Some(kept) = kept {
                let mode = PermissionsExt::from_mode(mode_of(&kept) & 0o777);
                file.set_permissions(mode)?;
            }
            file.write_all(bytes)?;
            Ok(renameat(&self.resolved.fd, &*draft, &self.resolved.fd, name)?)
        };
        write().inspect_err(|_: &io::Error| {
            let _ = self.unlink(&draft);
        })
    }

    /// Checks that the file was written where it was asked for: the path still leads here.
    fn still_there(&self) -> io::Result<()> {
        let id = |stat: FileStat| (stat.st_dev, stat.st_ino);
        let now = resolve(&self.path, AbsentDirectory::Refuse).and_then(|now| Ok(fstat(&now.fd)?));
        if now.is_ok_and(|now| fstat(&self.resolved.fd).is_ok_and(|own| id(own) == id(now))) {
            return Ok(());
        }
        Err(io::Error::other("its directory was moved meanwhile, and the file with it"))
    }
}

/// Returns whether `stat` is of this kind.
pub(super) fn is(stat: &FileStat, kind: SFlag) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == kind
}

/// Returns whether the running user or root owns the file of `stat`.
pub(super) fn is_ours(stat: &FileStat) -> bool {
    stat.st_uid == 0 || stat.st_uid == nix::unistd::geteuid().as_raw()
}

/// Returns whether `file` is still the file of `stat`.
pub(super) fn is_same(file: &File, stat: &FileStat) -> bool {
    file.metadata().is_ok_and(|meta| {
        #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "signed on macOS")]
        let device = stat.st_dev as u64;
        (meta.dev(), meta.ino()) == (device, stat.st_ino)
    })
}
