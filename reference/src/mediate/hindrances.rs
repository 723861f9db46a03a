//! What keeps a call from its work on every host, beside the sandbox: what stands at its names, what it is
//! called with, and whose the objects are. Asked only about calls that the kernel refuses here.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{Gid, getegid, geteuid, getgroups};
use rustix::fs::RenameFlags;

use super::broker::stat_name;
use super::caller::CallingThread;
use super::emulate::own_path;
use super::mounts;
use super::observed_calls::MetadataChange;
use super::walk::{PinnedName, kind};
use crate::sys::notify;

/// Returns whether nothing stands at `spot`, where an object of this type is to be made.
pub(super) fn can_be_made(spot: &PinnedName, form: SFlag) -> nix::Result<bool> {
    let is_device = matches!(form, SFlag::S_IFCHR | SFlag::S_IFBLK);
    if is_device && !geteuid().is_root() || spot.slash && form != SFlag::S_IFDIR {
        return Ok(false);
    }
    found_at(spot).map(|found| found.is_none())
}

/// Returns whether the name `spot` can be removed: an empty directory's, or that of something else.
pub(super) fn can_be_removed(spot: &PinnedName, directory: bool) -> nix::Result<bool> {
    let Some(found) = found_at(spot)? else { return Ok(false) };
    Ok(match kind(&found) == SFlag::S_IFDIR {
        is_directory if is_directory != directory => false,
        true => is_empty(spot, &found)? && !is_kept(spot, &found)?,
        false => !spot.slash && !is_kept(spot, &found)?,
    })
}

/// Returns whether the name `old` can become `new`, or change places with it.
pub(super) fn can_be_moved(
    old: &PinnedName,
    new: &PinnedName,
    flags: RenameFlags,
) -> nix::Result<bool> {
    let Some(source) = found_at(old)? else { return Ok(false) };
    let target = found_at(new)?;
    let exchanged = flags.contains(RenameFlags::EXCHANGE);
    let is_directory = |found: &FileStat| kind(found) == SFlag::S_IFDIR;
    let coming = if exchanged { target.as_ref() } else { Some(&source) };
    let misnamed =
        old.slash && !is_directory(&source) || new.slash && !coming.is_some_and(is_directory);
    let clash =
        flags.contains(RenameFlags::NOREPLACE) && target.is_some() || exchanged && target.is_none();
    if old.stands
        || new.stands
        || misnamed
        || clash
        || is_within(old, new)?
        || is_kept(old, &source)?
    {
        return Ok(false);
    }
    let Some(target) = target else { return Ok(true) };
    if is_kept(new, &target)? {
        return Ok(false);
    }
    match (is_directory(&source), is_directory(&target)) {
        _ if exchanged => Ok(!is_within(new, old)?),
        (true, true) => is_empty(new, &target),
        (one, other) => Ok(one == other),
    }
}

/// Returns whether this user can make `change` to `object`, its own, on a host that can be written to.
pub(super) fn can_be_changed(
    caller: CallingThread<'_>,
    object: BorrowedFd<'_>,
    change: MetadataChange,
) -> nix::Result<bool> {
    let form = || fstat(object).map(|found| kind(&found));
    match change {
        MetadataChange::Other => Ok(true),
        MetadataChange::Mode => Ok(form()? != SFlag::S_IFLNK),
        MetadataChange::Owner(user, group) => Ok(can_give(user, group)),
        MetadataChange::Times(address) => are_times(caller, address),
        MetadataChange::SetAttribute(name, flags) => {
            let name = caller.string(name)?;
            let is_apt = match flags {
                libc::XATTR_CREATE => !has_attribute(object, &name)?,
                libc::XATTR_REPLACE => has_attribute(object, &name)?,
                flags => flags == 0,
            };
            Ok(is_apt && can_name(name.to_bytes(), form()?))
        }
        MetadataChange::RemoveAttribute(name) => {
            let name = caller.string(name)?;
            Ok(can_name(name.to_bytes(), form()?) && has_attribute(object, &name)?)
        }
    }
}

/// Returns whether the two times at `address`, the current one if that is 0, are such, and one of them is
/// to be set.
fn are_times(caller: CallingThread<'_>, address: u64) -> nix::Result<bool> {
    /// Bytes of a time, and where its nanoseconds are.
    const TIME: usize = size_of::<libc::timespec>();
    const NANOSECONDS: usize = std::mem::offset_of!(libc::timespec, tv_nsec);
    if address == 0 {
        return Ok(true);
    }
    let bytes = caller.memory(address, 2 * TIME)?;
    let [one, other] = [0, TIME].map(|start| {
        let rest = &bytes[start + NANOSECONDS..];
        rest.first_chunk().map_or(0, |word| libc::c_long::from_ne_bytes(*word))
    });
    let is_time = |ns| matches!(ns, 0..1_000_000_000 | libc::UTIME_NOW | libc::UTIME_OMIT);
    Ok(is_time(one) && is_time(other) && [one, other] != [libc::UTIME_OMIT; 2])
}

/// Returns whether `object` has the attribute `name`; one that cannot be read may be there.
fn has_attribute(object: BorrowedFd<'_>, name: &CStr) -> nix::Result<bool> {
    let found = rustix::fs::getxattr(own_path(object)?.as_c_str(), name, &mut [0; 0]);
    Ok(found != Err(rustix::io::Errno::NODATA))
}

/// Returns whether this user can give a file of its own to `user` and `group`.
fn can_give(user: u32, group: u32) -> bool {
    let is_own =
        |group: Gid| group == getegid() || getgroups().is_ok_and(|groups| groups.contains(&group));
    let user_stays = user == u32::MAX || user == geteuid().as_raw();
    geteuid().is_root() || user_stays && (group == u32::MAX || is_own(Gid::from_raw(group)))
}

/// Returns whether this user can change the attribute `name` of an object of this type.
fn can_name(name: &[u8], form: SFlag) -> bool {
    let of_users = name.starts_with(b"user.") && matches!(form, SFlag::S_IFREG | SFlag::S_IFDIR);
    let of_access = name.starts_with(b"system.posix_acl_") && form != SFlag::S_IFLNK;
    let of_root = name.starts_with(b"trusted.") || name.starts_with(b"security.");
    of_users || of_access || of_root && geteuid().is_root()
}

/// Returns what stands at `spot`, if anything does.
fn found_at(spot: &PinnedName) -> nix::Result<Option<FileStat>> {
    match stat_name(spot) {
        Err(Errno::ENOENT) => Ok(None),
        found => found.map(Some),
    }
}

/// Returns whether the directory at `spot` has no entries. What the sandbox mounted there says nothing of
/// the host's.
fn is_empty(spot: &PinnedName, found: &FileStat) -> nix::Result<bool> {
    if is_mount_point(spot)? {
        return Ok(true);
    }
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let opened = match openat(&spot.directory, spot.name.as_c_str(), flags, Mode::empty()) {
        // One that cannot be read has at least its own two names, and one of each directory in it.
        Err(Errno::EACCES) => return Ok(found.st_nlink <= 2),
        opened => opened?,
    };
    let mut directory = Dir::from_fd(opened)?;
    let mut names = directory.iter().filter_map(Result::ok);
    Ok(names.all(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")))
}

/// Returns whether the directory of `spot` is shared and keeps the names of other users' objects.
fn is_kept(spot: &PinnedName, found: &FileStat) -> nix::Result<bool> {
    let (directory, user) = (fstat(&spot.directory)?, geteuid());
    let foreign = ![found.st_uid, directory.st_uid].contains(&user.as_raw()) && !user.is_root();
    Ok(foreign && directory.st_mode & libc::S_ISVTX != 0)
}

/// Returns whether `new` is a name in or below the object at `old`.
fn is_within(old: &PinnedName, new: &PinnedName) -> nix::Result<bool> {
    let path = |directory: &OwnedFd| mounts::path_of(directory.as_fd()).map_err(|_| Errno::EIO);
    let moved = path(&old.directory)?.join(std::ffi::OsStr::from_bytes(old.bare()));
    Ok(path(&new.directory)?.starts_with(moved))
}

/// Returns whether something is mounted at `spot`, which keeps its name.
pub(super) fn is_mount_point(spot: &PinnedName) -> nix::Result<bool> {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let object = openat(&spot.directory, spot.name.as_c_str(), flags, Mode::empty())?;
    let mount = |file: BorrowedFd<'_>| notify::mount_of(file).ok();
    Ok(mount(object.as_fd()) != mount(spot.directory.as_fd()))
}
