//! A profile's file ([`ProfileFile`]): it exists while its run lasts, readable by its owner alone.
//!
//! A live run holds the lock on its file: the kernel releases the lock with the last process of the
//! run, however it ended. So a starting run can tell the leftover of a crash from a file in use.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, fstatat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};

use super::private_directory::PrivateDirectory;

/// The suffix of a profile's name.
const SUFFIX: &str = ".sb";
/// Times a file is made at most, because another start took it for one left behind.
const ATTEMPTS: usize = 100;

/// The name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProfileFileName {
    /// A name that is unique.
    Fresh,
    /// This name; a run that has it already keeps it.
    Exactly(String),
}

impl ProfileFileName {
    /// Returns whether `found` is a name of this kind.
    fn is(&self, found: &str) -> bool {
        match self {
            Self::Fresh => {
                found.strip_suffix(SUFFIX).is_some_and(|id| uuid::Uuid::try_parse(id).is_ok())
            }
            Self::Exactly(name) => found == name,
        }
    }
}

/// A profile's file, removed on drop.
#[derive(Debug)]
pub(crate) struct ProfileFile {
    directory: PrivateDirectory,
    name: String,
    /// Open as long as the run lasts, for its lock.
    file: File,
}

impl ProfileFile {
    /// Removes the leftovers of crashed runs in `directory`, then writes `text` to a file there.
    pub(crate) fn write(
        directory: PrivateDirectory,
        name: &ProfileFileName,
        text: &str,
    ) -> io::Result<Self> {
        clear(&directory, name)?;
        for _ in 0..ATTEMPTS {
            let name = match name {
                ProfileFileName::Fresh => format!("{}{SUFFIX}", uuid::Uuid::new_v4().simple()),
                ProfileFileName::Exactly(name) => name.clone(),
            };
            if let Some(file) = create(&directory, &name)? {
                let mut made = Self { directory, name, file };
                made.file.write_all(text.as_bytes())?;
                return Ok(made);
            }
        }
        Err(io::Error::other("another start keeps taking it for a file left behind"))
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }
}

impl Drop for ProfileFile {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.directory, &self.name, &self.file) {
            eprintln!(
                "refbox: the profile {} could not be removed: {error}",
                self.path().display()
            );
        }
    }
}

/// A new file, locked; none if another start held it for one left behind.
fn create(directory: &PrivateDirectory, name: &str) -> io::Result<Option<File>> {
    let flags =
        OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_RDWR | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = match openat(directory.handle(), name, flags, Mode::S_IRUSR | Mode::S_IWUSR) {
        Ok(file) => File::from(file),
        Err(Errno::EEXIST) => {
            let path = directory.path().join(name);
            return Err(io::Error::other(format!(
                "{} is there already, and not left behind: another run of this session has it",
                path.display()
            )));
        }
        Err(errno) => return Err(errno.into()),
    };
    // Only the locked file is safe: before that another start could remove it.
    Ok((lock(&file)? && file.metadata()?.nlink() == 1).then_some(file))
}

/// Removes the profiles in `directory` that are not locked and whose names are of the kind `name`.
fn clear(directory: &PrivateDirectory, name: &ProfileFileName) -> io::Result<()> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut listed = Dir::openat(directory.handle(), ".", flags, Mode::empty())?;
    let names: Vec<String> = listed
        .iter()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned()))
        .filter(|found| name.is(found))
        .collect();
    names.iter().try_for_each(|name| clear_one(directory, name))
}

fn clear_one(directory: &PrivateDirectory, name: &str) -> io::Result<()> {
    // Only regular files: opening a pipe would block.
    let flags = OFlag::O_RDWR | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let Ok(file) = openat(directory.handle(), name, flags, Mode::empty()) else { return Ok(()) };
    let file = File::from(file);
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != geteuid().as_raw() || !lock(&file)? {
        return Ok(());
    }
    remove(directory, name, &file)
}

/// Takes the lock on `file`; returns false if another process holds it.
fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes `name`, if it still is `file`, whose lock is ours.
fn remove(directory: &PrivateDirectory, name: &str, file: &File) -> io::Result<()> {
    let there = match fstatat(directory.handle(), name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => return Ok(()),
        there => there?,
    };
    let own = nix::sys::stat::fstat(file)?;
    if (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino) {
        unlinkat(directory.handle(), name, UnlinkatFlags::NoRemoveDir)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
