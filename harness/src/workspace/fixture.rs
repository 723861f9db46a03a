//! Laying out one entry of a fixture, by descriptors: the names that lead to it may become other
//! ones meanwhile, and nothing is laid out elsewhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use boxproof_cases::case::{EntryKind, FixtureEntry};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, mkdirat};
use nix::unistd::{linkat, symlinkat};

use super::ArmWorkspace;

/// Modes before the umask.
const DIRECTORY: Mode = Mode::from_bits_truncate(0o777);
const FILE: Mode = Mode::from_bits_truncate(0o666);
const PIPE: Mode = Mode::from_bits_truncate(0o644);

/// Makes `entry` at `path`, parents included.
///
/// # Errors
/// The call that failed; ELOOP or ENOTDIR for a link on the way.
pub(super) fn entry(path: &Path, entry: &FixtureEntry, workspace: &ArmWorkspace) -> io::Result<()> {
    let (parent, name) = place(path, workspace)?;
    let expand = |text: &str| workspace.vars.expand(text).map_err(io::Error::other);
    match &entry.kind {
        EntryKind::File(text) => file(parent.as_fd(), name, &expand(text)?),
        EntryKind::Dir => directory(parent.as_fd(), name.as_ref()).map(drop),
        EntryKind::Link(target) => Ok(symlinkat(expand(target)?.as_str(), &parent, name)?),
        EntryKind::Hardlink(target) => {
            let target = workspace.place(target).map_err(io::Error::other)?;
            let (from, called) = place(&target, workspace)?;
            Ok(linkat(&from, called, &parent, name, AtFlags::empty())?)
        }
        EntryKind::Fifo => Ok(fifo(parent.as_fd(), name, path)?),
        EntryKind::Git => repository(directory(parent.as_fd(), name.as_ref())?.as_fd()),
    }
}

/// Gives what is at `path` the mode that `entry` tells, if it does.
///
/// # Errors
/// The errno of fchmodat(2).
pub(super) fn mode(path: &Path, entry: &FixtureEntry, workspace: &ArmWorkspace) -> io::Result<()> {
    let Some(mode) = entry.mode else { return Ok(()) };
    let (parent, name) = place(path, workspace)?;
    let mode = Mode::from_bits_truncate(mode as libc::mode_t);
    Ok(fchmodat(&parent, name, mode, FchmodatFlags::NoFollowSymlink)?)
}

/// Opens the directory of `path`, made where it is missing; returns it with the last name.
fn place<'a>(path: &'a Path, workspace: &ArmWorkspace) -> io::Result<(OwnedFd, &'a OsStr)> {
    let below = path.strip_prefix(workspace.root()).map_err(io::Error::other)?;
    let (Some(above), Some(name)) = (below.parent(), below.file_name()) else {
        return Err(Errno::EINVAL.into());
    };
    Ok((directory(workspace.directory.inode(), above)?, name))
}

/// Opens the directory `below` of `top`, made where it is missing.
pub(super) fn directory(top: BorrowedFd<'_>, below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut at = top.try_clone_to_owned()?;
    for part in below.components() {
        let Component::Normal(name) = part else { return Err(Errno::EINVAL.into()) };
        match mkdirat(&at, name, DIRECTORY) {
            Err(Errno::EEXIST) => {}
            made => made?,
        }
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}

fn file(parent: BorrowedFd<'_>, name: &OsStr, text: &str) -> io::Result<()> {
    let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
    // A FIFO in its place does not hold up the worker.
    let safe = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    File::from(openat(parent, name, new | safe, FILE)?).write_all(text.as_bytes())
}

/// The directories of the least that git takes for a repository; hand-made, so that no case costs a
/// git run.
pub const REPOSITORY_DIRECTORIES: [&str; 6] =
    ["objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info"];

/// The files of that repository: path and text.
pub const REPOSITORY_FILES: [(&str, &str); 3] = [
    ("HEAD", "ref: refs/heads/main\n"),
    ("info/exclude", ""),
    ("config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"),
];

#[cfg(target_os = "linux")]
fn fifo(parent: BorrowedFd<'_>, name: &OsStr, _: &Path) -> nix::Result<()> {
    nix::unistd::mkfifoat(parent, name, PIPE)
}

/// Makes it by its path: mkfifoat(2) is not everywhere.
#[cfg(not(target_os = "linux"))]
fn fifo(_: BorrowedFd<'_>, _: &OsStr, path: &Path) -> nix::Result<()> {
    nix::unistd::mkfifo(path, PIPE)
}

fn repository(within: BorrowedFd<'_>) -> io::Result<()> {
    let git = directory(within, ".git".as_ref())?;
    for below in REPOSITORY_DIRECTORIES {
        directory(git.as_fd(), below.as_ref())?;
    }
    REPOSITORY_FILES.into_iter().try_for_each(|(path, text)| {
        let path = Path::new(path);
        let above = path.parent().unwrap_or(Path::new(""));
        let parent = directory(git.as_fd(), above)?;
        file(parent.as_fd(), path.file_name().unwrap_or_default(), text)
    })
}
