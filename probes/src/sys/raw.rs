//! Calls that no library wraps: [`call`], and the files and processes reached with it.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::{c_long, c_void};
use nix::NixPath;
use nix::errno::Errno;
use nix::unistd::Pid;

use super::own;

/// syscall(2) with up to six arguments.
///
/// # Safety
/// The arguments are those that call `number` takes; memory that they point to outlives the call.
pub(super) unsafe fn call<const N: usize>(
    number: c_long,
    args: [c_long; N],
) -> nix::Result<c_long> {
    let at = |index: usize| args.get(index).copied().unwrap_or(0);
    // SAFETY: the caller's promise; a call does not look at arguments it does not take.
    Errno::result(unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) })
}

/// The descriptor that a call has just returned.
pub(super) fn descriptor(returned: nix::Result<c_long>) -> nix::Result<OwnedFd> {
    RawFd::try_from(returned?).map(own).map_err(|_| Errno::EBADF)
}

fn counted(returned: nix::Result<c_long>) -> nix::Result<usize> {
    usize::try_from(returned?).map_err(|_| Errno::EIO)
}

fn number(fd: &OwnedFd) -> c_long {
    fd.as_raw_fd().into()
}

/// sendfile(2): up to `most` bytes from where `from` stands.
pub(crate) fn sendfile(to: &OwnedFd, from: &OwnedFd, most: usize) -> nix::Result<usize> {
    // SAFETY: two descriptors, no offset, a number.
    counted(unsafe { call(libc::SYS_sendfile, [number(to), number(from), 0, most as c_long]) })
}

/// splice(2): up to `most` bytes into a pipe.
pub(crate) fn splice(from: &OwnedFd, pipe: &OwnedFd, most: usize) -> nix::Result<usize> {
    let args = [number(from), 0, number(pipe), 0, most as c_long, 0];
    // SAFETY: two descriptors without offsets, and numbers.
    counted(unsafe { call(libc::SYS_splice, args) })
}

/// copy_file_range(2): up to `most` bytes from where both files stand.
pub(crate) fn copy_file_range(from: &OwnedFd, to: &OwnedFd, most: usize) -> nix::Result<usize> {
    let args = [number(from), 0, number(to), 0, most as c_long, 0];
    // SAFETY: two descriptors without offsets, and numbers.
    counted(unsafe { call(libc::SYS_copy_file_range, args) })
}

/// struct file_handle with room for the largest one.
#[repr(C)]
pub(crate) struct FileHandle {
    bytes: u32,
    kind: i32,
    data: [u8; 128],
}

/// name_to_handle_at(2) from the current directory.
pub(crate) fn name_to_handle(path: &OsStr) -> nix::Result<FileHandle> {
    let mut handle = FileHandle { bytes: 128, kind: 0, data: [0; 128] };
    let mut mount: libc::c_int = 0;
    let (handle_at, mount_at) = (&raw mut handle as c_long, &raw mut mount as c_long);
    path.with_nix_path(|path| {
        let args = [libc::AT_FDCWD.into(), path.as_ptr() as c_long, handle_at, mount_at, 0];
        // SAFETY: a NUL-terminated string, a handle that says its room, and a place for an int.
        unsafe { call(libc::SYS_name_to_handle_at, args) }
    })??;
    Ok(handle)
}

/// open_by_handle_at(2) in the file system of `mount`.
pub(crate) fn open_by_handle(
    mount: &OwnedFd,
    handle: &FileHandle,
    flags: libc::c_int,
) -> nix::Result<OwnedFd> {
    let args = [number(mount), std::ptr::from_ref(handle) as c_long, flags.into()];
    // SAFETY: a descriptor, a handle that the kernel filled in, and a number.
    descriptor(unsafe { call(libc::SYS_open_by_handle_at, args) })
}

/// pidfd_open(2).
pub(crate) fn pidfd_open(pid: Pid) -> nix::Result<OwnedFd> {
    // SAFETY: numbers only.
    descriptor(unsafe { call(libc::SYS_pidfd_open, [pid.as_raw().into(), 0]) })
}

/// pidfd_getfd(2).
pub(crate) fn pidfd_getfd(pidfd: &OwnedFd, fd: RawFd) -> nix::Result<OwnedFd> {
    // SAFETY: numbers only.
    descriptor(unsafe { call(libc::SYS_pidfd_getfd, [number(pidfd), fd.into(), 0]) })
}

/// pidfd_send_signal(2); 0 only asks whether it could.
pub(crate) fn pidfd_send_signal(pidfd: &OwnedFd, signal: libc::c_int) -> nix::Result<()> {
    // SAFETY: numbers and no siginfo.
    unsafe { call(libc::SYS_pidfd_send_signal, [number(pidfd), signal.into(), 0, 0]) }.map(drop)
}

/// socket(2) of any family.
pub(crate) fn socket(family: i32, kind: i32, protocol: i32) -> nix::Result<OwnedFd> {
    // SAFETY: numbers only.
    Errno::result(unsafe { libc::socket(family, kind, protocol) }).map(own)
}

/// The address of `value`, for a call that reads or fills it.
pub(super) fn address<T>(value: *const T) -> c_long {
    value.cast::<c_void>() as c_long
}
