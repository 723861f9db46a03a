//! Opening directories by descriptor: no link is followed and no mount crossed, and a closed
//! directory of the own user is opened up first.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag};
use nix::sys::stat::{FileStat, Mode, fchmod, fstat};
use nix::unistd::geteuid;

/// The mode that a directory needs for the removal of its entries.
const UNLOCKED: Mode = Mode::S_IRWXU;

/// Opens the directory at `path` for use as a parent only; links on the way are ELOOP.
pub(super) fn path(path: &Path) -> nix::Result<OwnedFd> {
    system::path(path)
}

/// Opens the directory `name` in `parent` to read it. One of the own user gets the modes that
/// removing its entries takes.
///
/// # Errors
/// EXDEV for a mount point, ELOOP or ENOTDIR for what is no directory, EACCES for one that is
/// closed and another user's.
pub(super) fn directory(parent: BorrowedFd<'_>, name: &OsStr) -> nix::Result<OwnedFd> {
    let opened = match read(parent, name) {
        Err(Errno::EACCES) => {
            system::unlock(parent, name)?;
            read(parent, name)
        }
        opened => opened,
    }?;
    unlock(opened.as_fd());
    Ok(opened)
}

/// Opens `directory` anew, to read it from its beginning.
pub(super) fn again(directory: BorrowedFd<'_>) -> nix::Result<OwnedFd> {
    unlock(directory);
    read(directory, OsStr::new("."))
}

fn read(parent: BorrowedFd<'_>, name: &OsStr) -> nix::Result<OwnedFd> {
    system::beneath(parent, name, OFlag::O_RDONLY | OFlag::O_NONBLOCK)
}

/// Returns whether the inode belongs to the own user.
pub(super) fn is_own(stat: &FileStat) -> bool {
    stat.st_uid == geteuid().as_raw()
}

fn is_locked(stat: &FileStat) -> bool {
    !Mode::from_bits_truncate(stat.st_mode).contains(UNLOCKED)
}

fn unlock(directory: BorrowedFd<'_>) {
    let Ok(stat) = fstat(directory) else { return };
    if is_own(&stat) && is_locked(&stat) {
        // Where it fails, so does the removal, and that failure is reported.
        let _ = fchmod(directory, Mode::from_bits_truncate(stat.st_mode) | UNLOCKED);
    }
}

/// Returns the present path of `directory`, as the kernel gives it.
pub(super) fn path_of(directory: BorrowedFd<'_>) -> Option<PathBuf> {
    system::path_of(directory)
}

#[cfg(target_os = "linux")]
mod system {
    use super::*;
    use nix::fcntl::{AtFlags, OpenHow, ResolveFlag, openat, openat2, readlink};
    use nix::sys::stat::{FchmodatFlags, fchmodat, fstatat};
    use std::os::fd::AsRawFd;

    pub(super) fn path(path: &Path) -> nix::Result<OwnedFd> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
        match openat2(AT_FDCWD, path, how) {
            Err(Errno::ENOSYS | Errno::EPERM) => {
                openat(AT_FDCWD, path, flags | OFlag::O_NOFOLLOW, Mode::empty())
            }
            opened => opened,
        }
    }

    /// Opens the directory `name` on the mount of `parent`.
    pub(super) fn beneath(
        parent: BorrowedFd<'_>,
        name: &OsStr,
        access: OFlag,
    ) -> nix::Result<OwnedFd> {
        let flags = access | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let resolve = ResolveFlag::RESOLVE_BENEATH
            | ResolveFlag::RESOLVE_NO_SYMLINKS
            | ResolveFlag::RESOLVE_NO_XDEV;
        match openat2(parent, name, OpenHow::new().flags(flags).resolve(resolve)) {
            // Before Linux 5.6, and where a filter refuses calls that it does not know.
            Err(Errno::ENOSYS | Errno::EPERM) => on_the_same_mount(parent, name, flags),
            opened => opened,
        }
    }

    pub(super) fn on_the_same_mount(
        parent: BorrowedFd<'_>,
        name: &OsStr,
        flags: OFlag,
    ) -> nix::Result<OwnedFd> {
        let opened = openat(parent, name, flags, Mode::empty())?;
        match (mount_of(parent), mount_of(opened.as_fd())) {
            (Some(outer), Some(inner)) if outer == inner => Ok(opened),
            _ => Err(Errno::EXDEV),
        }
    }

    /// The kernel's number of the mount that a descriptor is on.
    fn mount_of(descriptor: BorrowedFd<'_>) -> Option<u64> {
        let file = format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd());
        let text = std::fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
    }

    /// Opens up a directory that cannot be opened to read it, by a descriptor of its inode.
    pub(super) fn unlock(parent: BorrowedFd<'_>, name: &OsStr) -> nix::Result<()> {
        let inode = beneath(parent, name, OFlag::O_PATH)?;
        let stat = fstatat(&inode, "", AtFlags::AT_EMPTY_PATH)?;
        if !is_own(&stat) {
            return Err(Errno::EACCES);
        }
        let mode = Mode::from_bits_truncate(stat.st_mode) | UNLOCKED;
        // The kernel's link to the inode itself: fchmod(2) does not take such a descriptor.
        let link = format!("/proc/self/fd/{}", inode.as_raw_fd());
        fchmodat(AT_FDCWD, link.as_str(), mode, FchmodatFlags::FollowSymlink)
    }

    pub(super) fn path_of(directory: BorrowedFd<'_>) -> Option<PathBuf> {
        let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
        readlink(link.as_str()).ok().map(PathBuf::from)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;
    use nix::fcntl::openat;
    use nix::sys::stat::{FchmodatFlags, fchmodat};

    pub(super) fn path(path: &Path) -> nix::Result<OwnedFd> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        openat(AT_FDCWD, path, flags, Mode::empty())
    }

    /// Opens the directory `name` on the device of `parent`.
    pub(super) fn beneath(
        parent: BorrowedFd<'_>,
        name: &OsStr,
        access: OFlag,
    ) -> nix::Result<OwnedFd> {
        let flags = access | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(parent, name, flags, Mode::empty())?;
        match fstat(parent)?.st_dev == fstat(&opened)?.st_dev {
            true => Ok(opened),
            false => Err(Errno::EXDEV),
        }
    }

    pub(super) fn unlock(parent: BorrowedFd<'_>, name: &OsStr) -> nix::Result<()> {
        fchmodat(parent, name, UNLOCKED, FchmodatFlags::NoFollowSymlink)
    }

    pub(super) fn path_of(_directory: BorrowedFd<'_>) -> Option<PathBuf> {
        None
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn without_openat2_links_are_not_followed_and_mounts_not_crossed() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("d")).unwrap();
        symlink("d", place.path().join("link")).unwrap();
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
        let open = |parent: &Path, name: &str| {
            let parent = path(parent).unwrap();
            system::on_the_same_mount(parent.as_fd(), OsStr::new(name), flags).map(drop)
        };
        assert_eq!(open(place.path(), "d"), Ok(()));
        assert_eq!(open(place.path(), "link"), Err(Errno::ENOTDIR));
        assert_eq!(open(Path::new("/"), "proc"), Err(Errno::EXDEV));
    }
}
