//! Opening a directory by its path, the way that this process's rights ask for: [`resolve`].

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, fstat, mkdirat};
use nix::unistd::{Uid, geteuid};

use super::owner::DirectoryOwner;

/// The most links that a path may have, as for the kernel.
const LINKS: usize = 40;

/// A directory by descriptor.
#[derive(Debug)]
pub(super) struct ResolvedDirectory {
    pub(super) fd: OwnedFd,
    /// The owner of the directory, if it is not the running user.
    pub(super) owner: Option<DirectoryOwner>,
    /// True if root alone can make links in it.
    pub(super) trusted: bool,
}

/// The treatment of a directory that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AbsentDirectory {
    /// It is an error.
    Refuse,
    /// It is made, those above it included.
    Make,
}

/// Opens the directory at `path`.
///
/// # Errors
/// The errno of openat(2) or mkdirat(2); for root also a path that leads through directories of
/// more than one other user, or through a link that another user can have made.
pub(super) fn resolve(path: &Path, absent: AbsentDirectory) -> io::Result<ResolvedDirectory> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if geteuid().is_root() {
        return PathWalk::start()?.all(&std::path::absolute(path)?, absent);
    }
    if absent == AbsentDirectory::Make {
        std::fs::create_dir_all(path)?;
    }
    let fd = openat(AT_FDCWD, path, directory_flags(), Mode::empty())?;
    let trusted = is_trusted(&fstat(&fd)?);
    Ok(ResolvedDirectory { fd, owner: None, trusted })
}

/// Returns the flags for a directory: on Linux the descriptor needs no right to list it.
fn directory_flags() -> OFlag {
    #[cfg(target_os = "linux")]
    return OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    return OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
}

/// Returns whether root alone can make and rename entries of the directory.
fn is_trusted(stat: &FileStat) -> bool {
    let writable = mode(stat) & if stat.st_gid == 0 { 0o002 } else { 0o022 };
    stat.st_uid == 0 && writable == 0
}

pub(super) fn mode(stat: &FileStat) -> u32 {
    #[allow(clippy::useless_conversion, reason = "16 bits wide on macOS")]
    u32::from(stat.st_mode)
}

/// Root's way through a path. Directories are kept for `..`.
struct PathWalk(Vec<ResolvedDirectory>);

impl PathWalk {
    fn start() -> io::Result<Self> {
        let fd = openat(AT_FDCWD, "/", directory_flags(), Mode::empty())?;
        let trusted = is_trusted(&fstat(&fd)?);
        Ok(Self(vec![ResolvedDirectory { fd, owner: None, trusted }]))
    }

    fn all(mut self, path: &Path, absent: AbsentDirectory) -> io::Result<ResolvedDirectory> {
        let mut left: VecDeque<OsString> = names(path);
        let mut links = 0;
        while let Some(name) = left.pop_front() {
            if name == "/" {
                self.0.truncate(1);
            } else if name == ".." {
                self.0.truncate(self.0.len().saturating_sub(1).max(1));
            } else if let Some(link) = self.link(&name)? {
                links += 1;
                if links > LINKS {
                    return Err(Errno::ELOOP.into());
                }
                for part in names(Path::new(&link)).into_iter().rev() {
                    left.push_front(part);
                }
            } else {
                self.enter(&name, absent)?;
            }
        }
        self.0.pop().ok_or_else(|| Errno::ENOENT.into())
    }

    fn here(&self) -> io::Result<&ResolvedDirectory> {
        self.0.last().ok_or_else(|| Errno::ENOENT.into())
    }

    /// Returns the target of the link called `name`; none where it is no link.
    fn link(&self, name: &OsStr) -> io::Result<Option<OsString>> {
        let here = self.here()?;
        match readlinkat(&here.fd, name) {
            Ok(_) if !here.trusted => Err(io::Error::other(format!(
                "`{}` is a link that another user can have made: name where it leads to",
                name.display()
            ))),
            Ok(link) => Ok(Some(link)),
            Err(Errno::EINVAL | Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Goes into the directory called `name`, which is no link.
    fn enter(&mut self, name: &OsStr, absent: AbsentDirectory) -> io::Result<()> {
        let here = self.here()?;
        let open = || openat(&here.fd, name, directory_flags() | OFlag::O_NOFOLLOW, Mode::empty());
        let fd = match open() {
            Err(Errno::ENOENT) if absent == AbsentDirectory::Make => {
                let make = || Ok(mkdirat(&here.fd, name, Mode::from_bits_truncate(0o777))?);
                match DirectoryOwner::act(here.owner.as_ref(), || make().map(|()| Vec::new())) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error);
                    }
                    _ => open()?,
                }
            }
            fd => fd?,
        };
        let stat = fstat(&fd)?;
        let owner = owner(here.owner.as_ref(), &stat, name)?;
        let trusted = owner.is_none() && is_trusted(&stat);
        self.0.push(ResolvedDirectory { fd, owner, trusted });
        Ok(())
    }
}

/// The parts of a path, a leading `/` as one of them.
fn names(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

/// Returns the owner of the directory called `name`, which lies in one of `above`.
fn owner(
    above: Option<&DirectoryOwner>,
    stat: &FileStat,
    name: &OsStr,
) -> io::Result<Option<DirectoryOwner>> {
    const STICKY: u32 = 0o1000;
    let name = name.display();
    if mode(stat) & 0o002 != 0 && mode(stat) & STICKY == 0 {
        return Err(io::Error::other(format!(
            "everyone can write to the directory `{name}`, and root does not: chmod o-w it"
        )));
    }
    match (above, stat.st_uid) {
        (None, 0) => Ok(None),
        (None, uid) => Ok(Some(DirectoryOwner::for_uid(Uid::from_raw(uid)))),
        (Some(above), uid) if above.uid.as_raw() == uid => Ok(Some(above.clone())),
        (Some(above), uid) => Err(io::Error::other(format!(
            "the directory `{name}` belongs to uid {uid}, and lies in one of uid {0}, who could \
             put another in its place: chown it to {0}, or name another",
            above.uid
        ))),
    }
}
