//! The newer mount calls: file systems, trees and attributes by descriptor.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_long;
use nix::NixPath;
use nix::errno::Errno;

use super::raw::{address, call, descriptor};

/// `FSCONFIG_CMD_CREATE` of fsconfig(2).
const CREATE: c_long = 6;
/// `MOVE_MOUNT_F_EMPTY_PATH` of move_mount(2).
const FROM_DESCRIPTOR: c_long = 4;
/// `OPEN_TREE_CLONE` of open_tree(2).
const CLONE: c_long = 1;
/// `MOUNT_ATTR_RDONLY` of mount_setattr(2).
const READ_ONLY: u64 = 1;

/// struct mount_attr of mount_setattr(2).
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// A call and what the kernel said to it.
pub(crate) type FailedCall = (&'static str, Errno);

/// A tmpfs on `path` by fsopen(2), fsconfig(2), fsmount(2) and move_mount(2).
pub(crate) fn fsmount_tmpfs(path: &OsStr) -> Result<(), FailedCall> {
    let kind: &CStr = c"tmpfs";
    // SAFETY: a NUL-terminated string and a number.
    let context = descriptor(unsafe { call(libc::SYS_fsopen, [kind.as_ptr() as c_long, 0]) });
    let context = context.map_err(|errno| ("fsopen", errno))?;
    let fd: c_long = context.as_raw_fd().into();
    // SAFETY: the command takes neither key nor value.
    unsafe { call(libc::SYS_fsconfig, [fd, CREATE, 0, 0, 0]) }
        .map_err(|errno| ("fsconfig", errno))?;
    // SAFETY: numbers only.
    let mount = descriptor(unsafe { call(libc::SYS_fsmount, [fd, 0, 0]) });
    attach(&mount.map_err(|errno| ("fsmount", errno))?, path)
}

/// `from` on `to` by open_tree(2) and move_mount(2).
pub(crate) fn clone_tree(from: &OsStr, to: &OsStr) -> Result<(), FailedCall> {
    let tree = from.with_nix_path(|from| {
        let args = [libc::AT_FDCWD.into(), from.as_ptr() as c_long, CLONE];
        // SAFETY: a NUL-terminated string and numbers.
        descriptor(unsafe { call(libc::SYS_open_tree, args) })
    });
    attach(&tree.and_then(|tree| tree).map_err(|errno| ("open_tree", errno))?, to)
}

fn attach(mount: &OwnedFd, path: &OsStr) -> Result<(), FailedCall> {
    let (empty, fd): (&CStr, c_long) = (c"", mount.as_raw_fd().into());
    let moved = path.with_nix_path(|path| {
        let to = path.as_ptr() as c_long;
        let args = [fd, empty.as_ptr() as c_long, libc::AT_FDCWD.into(), to, FROM_DESCRIPTOR];
        // SAFETY: descriptors, NUL-terminated strings and a number.
        unsafe { call(libc::SYS_move_mount, args) }
    });
    moved.and_then(|moved| moved).map(drop).map_err(|errno| ("move_mount", errno))
}

/// mount_setattr(2) that clears the read-only flag of the mount at `path`.
pub(crate) fn clear_read_only(path: &OsStr) -> nix::Result<()> {
    let change = MountAttributes { set: 0, clear: READ_ONLY, propagation: 0, userns: 0 };
    let size = size_of::<MountAttributes>() as c_long;
    path.with_nix_path(|path| {
        let to = path.as_ptr() as c_long;
        let args = [libc::AT_FDCWD.into(), to, 0, address(&raw const change), size];
        // SAFETY: a NUL-terminated string, and a structure with its size.
        unsafe { call(libc::SYS_mount_setattr, args) }
    })?
    .map(drop)
}
