//! The mount calls that work on descriptors (Linux 5.2 to 5.12), one safe function each.

use std::ffi::{CStr, c_int, c_long, c_uint};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;

/// `MOUNT_ATTR_RDONLY`: nothing below can be written, metadata included.
pub(crate) const RDONLY: u64 = 0x1;
/// `MOUNT_ATTR_NOSUID`: executing gives no privileges.
pub(crate) const NOSUID: u64 = 0x2;
/// `MOUNT_ATTR_NODEV`: device files open nothing.
pub(crate) const NODEV: u64 = 0x4;
/// `MOUNT_ATTR_NOEXEC`: nothing can be executed.
pub(crate) const NOEXEC: u64 = 0x8;

const OPEN_TREE_CLONE: c_uint = 1;
const OPEN_TREE_CLOEXEC: c_uint = libc::O_CLOEXEC as c_uint;
const MOVE_MOUNT_EMPTY_PATHS: c_uint = 0x04 | 0x40;
const FSOPEN_CLOEXEC: c_uint = 1;
const FSMOUNT_CLOEXEC: c_uint = 1;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;

/// `struct mount_attr`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

fn descriptor(result: c_long) -> nix::Result<OwnedFd> {
    let fd = Errno::result(result)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// A copy of the mount that `place` (in our mount namespace) lies on, from there down, attached
/// nowhere; with `deep` the mounts below are copied too.
pub(crate) fn clone_tree(place: BorrowedFd<'_>, deep: bool) -> nix::Result<OwnedFd> {
    open_tree(place.as_raw_fd(), c"", deep)
}

/// Clones as [`clone_tree`] does, the object `name` in the directory `at`.
pub(crate) fn clone_named(at: BorrowedFd<'_>, name: &CStr) -> nix::Result<OwnedFd> {
    open_tree(at.as_raw_fd(), name, false)
}

fn open_tree(at: c_int, name: &CStr, deep: bool) -> nix::Result<OwnedFd> {
    let recursive = if deep { libc::AT_RECURSIVE as c_uint } else { 0 };
    let empty = if name.is_empty() { libc::AT_EMPTY_PATH as c_uint } else { 0 };
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive | empty;
    // SAFETY: the name is a C string that lives through the call; the rest are numbers.
    descriptor(unsafe { libc::syscall(libc::SYS_open_tree, at, name.as_ptr(), flags) })
}

/// Gives the mount at `place`, with `deep` also every mount below, these attributes.
pub(crate) fn set_attributes(place: BorrowedFd<'_>, set: u64, deep: bool) -> nix::Result<()> {
    let recursive = if deep { libc::AT_RECURSIVE as c_uint } else { 0 };
    let flags = libc::AT_EMPTY_PATH as c_uint | recursive;
    let attr = MountAttr { set, clear: 0, propagation: 0, userns: 0 };
    let size = size_of::<MountAttr>();
    let at = place.as_raw_fd();
    // SAFETY: the attributes live through the call and their size is given.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_mount_setattr, at, c"".as_ptr(), flags, &raw const attr, size)
    })
    .map(drop)
}

/// Attaches the detached `mount` on top of `place`.
pub(crate) fn attach(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> nix::Result<()> {
    let (from, to) = (mount.as_raw_fd(), place.as_raw_fd());
    let (empty, flags) = (c"".as_ptr(), MOVE_MOUNT_EMPTY_PATHS);
    // SAFETY: both names are empty C strings; the rest are numbers.
    Errno::result(unsafe { libc::syscall(libc::SYS_move_mount, from, empty, to, empty, flags) })
        .map(drop)
}

/// Begins a file system of type `kind`.
pub(crate) fn fsopen(kind: &CStr) -> nix::Result<OwnedFd> {
    // SAFETY: the name is a C string that lives through the call.
    descriptor(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) })
}

/// Sets one option of a file system that was begun.
pub(crate) fn fsoption(context: &OwnedFd, key: &CStr, value: &CStr) -> nix::Result<()> {
    let (context, command) = (context.as_raw_fd(), FSCONFIG_SET_STRING);
    let (key, value) = (key.as_ptr(), value.as_ptr());
    // SAFETY: key and value are C strings that live through the call.
    Errno::result(unsafe { libc::syscall(libc::SYS_fsconfig, context, command, key, value, 0) })
        .map(drop)
}

/// Makes the file system and a mount of it, attached nowhere.
pub(crate) fn fsmount(context: &OwnedFd, attributes: u64) -> nix::Result<OwnedFd> {
    let fd = context.as_raw_fd();
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes no key and no value.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, none, none, 0)
    })?;
    let attributes = attributes as c_uint;
    // SAFETY: fsmount takes three numbers and returns a new descriptor.
    descriptor(unsafe { libc::syscall(libc::SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes) })
}
