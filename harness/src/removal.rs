//! Removing directories that a hostile process may have filled, moved, locked or mounted over.
//!
//! Everything is reached by descriptors, one name at a time: no link is followed, no mount is
//! crossed, and modes are changed on directories of the own user only. Mounts are detached where
//! that is allowed; leftovers are returned with the reason. Main type: [`OwnedDirectory`].

mod mounts;
mod open;
mod walk;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, renameat};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

pub(crate) use mounts::point as mount_point;
use walk::RemovalWalk;

/// The mode of a directory of the harness.
const MODE: Mode = Mode::from_bits_truncate(0o755);

/// An entry that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// The path where it is now.
    pub(crate) path: PathBuf,
    /// The reason why it is still there.
    pub(crate) reason: String,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A backend names files: control characters must not reach a terminal.
        let path = self.path.display().to_string();
        write!(f, "{}: {}", path.escape_debug(), self.reason)
    }
}

/// Tells `leftovers` on stderr.
pub(crate) fn tell(leftovers: &[Leftover]) {
    for leftover in leftovers {
        eprintln!("boxproof: left behind: {leftover}; remove it yourself");
    }
}

/// A directory that the harness made, recognised by its inode wherever it is moved to.
#[derive(Debug)]
pub(crate) struct OwnedDirectory {
    path: PathBuf,
    parent: OwnedFd,
    name: OsString,
    inode: OwnedFd,
    /// The object at its path: the inode, or the root of what the harness mounted over it.
    surface: OwnedFd,
}

impl OwnedDirectory {
    /// Makes the directory `path`, whose parent must be reached without links.
    ///
    /// # Errors
    /// The errno of mkdir(2), or ELOOP for a link in place of a parent.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let (parent, name) = parent_of(path)?;
        mkdirat(parent.as_fd(), name, MODE)?;
        let directory = Self::open_in(parent, name, path)?;
        // The mode does not depend on the umask.
        fchmod(&directory.inode, MODE)?;
        Ok(directory)
    }

    /// Opens the directory `path` of the own user.
    ///
    /// # Errors
    /// The errno of open(2), ELOOP for a link, EPERM for a directory of another user.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let (parent, name) = parent_of(path)?;
        Self::open_in(parent, name, path)
    }

    fn open_in(parent: OwnedFd, name: &OsStr, path: &Path) -> io::Result<Self> {
        let inode = open::directory(parent.as_fd(), name)?;
        if !open::is_own(&fstat(&inode)?) {
            return Err(Errno::EPERM.into());
        }
        let surface = inode.try_clone()?;
        Ok(Self { path: path.to_owned(), parent, name: name.to_owned(), inode, surface })
    }

    /// Returns the path at which the harness made it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory itself, wherever it is moved to.
    pub(crate) fn inode(&self) -> BorrowedFd<'_> {
        self.inode.as_fd()
    }

    /// Opens the directory anew, for a lock of its own.
    ///
    /// # Errors
    /// The errno of open(2).
    pub(crate) fn reopen(&self) -> io::Result<File> {
        Ok(open::again(self.inode.as_fd())?.into())
    }

    /// Gives the directory the name `name`, beside where it is.
    ///
    /// # Errors
    /// The errno of rename(2).
    pub(crate) fn rename(&mut self, name: &str) -> io::Result<()> {
        renameat(&self.parent, self.name.as_os_str(), &self.parent, name)?;
        (self.name, self.path) = (name.into(), self.path.with_file_name(name));
        Ok(())
    }

    /// Takes what is mounted over the directory now for its surface.
    ///
    /// # Errors
    /// The errno of open(2).
    pub(crate) fn resurface(&mut self) -> io::Result<()> {
        self.surface = open::again(open::path(&self.path)?.as_fd())?;
        Ok(())
    }

    /// Returns whether its path still leads to its surface.
    pub(crate) fn is_in_place(&self) -> bool {
        let found = open::path(&self.path).and_then(fstat);
        matches!((found, fstat(&self.surface)), (Ok(found), Ok(own)) if same(&found, &own))
    }

    /// Removes the directory with everything in it, and returns the leftovers. A directory that is
    /// gone already counts as removed.
    pub(crate) fn remove(&self) -> Vec<Leftover> {
        let at = self.location().unwrap_or_else(|| self.path.clone());
        mounts::detach_below(&self.path);
        if at != self.path {
            mounts::detach_below(&at);
        }
        let mut walk = RemovalWalk::new();
        walk.empty(self.inode.as_fd(), &at);
        let mut left = walk.into_leftovers();
        let own = fstatat(&self.parent, self.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
        let gone = match (own, fstat(&self.inode)) {
            (Ok(found), Ok(own)) if same(&found, &own) => self.take_away(),
            (found, _) => found.map_or(Ok(()), |_| self.clear_name()).and(self.take_moved(&at)),
        };
        if let Err(errno) = gone.map_err(|errno| walk::reason(errno, &at))
            && left.is_empty()
        {
            left.push(Leftover { path: at, reason: errno });
        }
        left
    }

    fn take_away(&self) -> nix::Result<()> {
        or_gone(unlinkat(&self.parent, self.name.as_os_str(), UnlinkatFlags::RemoveDir))
    }

    /// Removes the link, file or empty directory that has the name of the moved directory.
    fn clear_name(&self) -> nix::Result<()> {
        match unlinkat(&self.parent, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
            Err(Errno::EISDIR | Errno::EPERM) => self.take_away(),
            done => or_gone(done),
        }
    }

    /// Removes the directory, which is empty, from where it was moved to.
    fn take_moved(&self, at: &Path) -> nix::Result<()> {
        let moved = self.location().filter(|found| found == at);
        let Some((parent, name)) = moved.as_deref().and_then(|path| parent_of(path).ok()) else {
            return Ok(());
        };
        or_gone(unlinkat(&parent, name, UnlinkatFlags::RemoveDir))
    }

    /// Returns the present path of the directory; `None` if it is gone or out of reach.
    fn location(&self) -> Option<PathBuf> {
        let path = open::path_of(self.inode.as_fd())?;
        let found = open::path(&path).and_then(fstat).ok()?;
        // Mounted over, the path leads to something else, and is right all the same.
        let own = fstat(&self.inode).ok()?;
        (path == self.path || same(&own, &found)).then_some(path)
    }
}

/// Removes the object at `path`, of any type, a link itself and not its target; returns the
/// leftovers.
pub(crate) fn remove_path(path: &Path) -> Vec<Leftover> {
    let (parent, name) = match parent_of(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            return vec![Leftover { path: path.to_owned(), reason: error.to_string() }];
        }
    };
    mounts::detach_below(path);
    let mut walk = RemovalWalk::new();
    walk.take(parent.as_fd(), name, path);
    walk.into_leftovers()
}

fn parent_of(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::EINVAL.into());
    };
    Ok((open::path(parent)?, name))
}

fn or_gone(done: nix::Result<()>) -> nix::Result<()> {
    match done {
        Err(Errno::ENOENT) => Ok(()),
        done => done,
    }
}

fn same(one: &FileStat, other: &FileStat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

#[cfg(test)]
mod tests;
