//! Calls on files and descriptors that nix lacks or dresses up.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use nix::NixPath;
use nix::errno::Errno;

/// A descriptor that was inherited; calls on a closed one give EBADF.
pub(crate) fn borrow(fd: RawFd) -> Option<BorrowedFd<'static>> {
    // SAFETY: -1 is excluded; no code in this program owns or closes an inherited number.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Takes over a descriptor that a call just returned.
pub(crate) fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the caller got `fd` from the kernel in this moment, and has no other owner for it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// rename(2).
pub(crate) fn rename(from: &OsStr, to: &OsStr) -> nix::Result<()> {
    let renamed = from.with_nix_path(|from| {
        // SAFETY: both are NUL-terminated strings that outlive the call.
        to.with_nix_path(|to| unsafe { libc::rename(from.as_ptr(), to.as_ptr()) })
    })??;
    Errno::result(renamed).map(drop)
}

/// rmdir(2).
pub(crate) fn rmdir(path: &OsStr) -> nix::Result<()> {
    // SAFETY: a NUL-terminated string that outlives the call.
    let removed = path.with_nix_path(|path| unsafe { libc::rmdir(path.as_ptr()) })?;
    Errno::result(removed).map(drop)
}

/// setxattr(2).
pub(crate) fn setxattr(path: &OsStr, name: &OsStr, value: &[u8]) -> nix::Result<()> {
    let name = c_string(name)?;
    let set = path.with_nix_path(|path| raw_setxattr(path, &name, value))?;
    Errno::result(set).map(drop)
}

/// getxattr(2), up to 4 KiB.
pub(crate) fn getxattr(path: &OsStr, name: &OsStr) -> nix::Result<Vec<u8>> {
    let name = c_string(name)?;
    let mut value = vec![0; 4096];
    let length = path.with_nix_path(|path| raw_getxattr(path, &name, &mut value))?;
    let length = Errno::result(length)?;
    value.truncate(usize::try_from(length).unwrap_or(0));
    Ok(value)
}

/// shm_open(3) with O_CREAT|O_EXCL|O_RDWR, for the owner only.
pub(crate) fn shm_open(name: &OsStr) -> nix::Result<OwnedFd> {
    let name = c_string(name)?;
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR;
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    Errno::result(unsafe { libc::shm_open(name.as_ptr(), flags, 0o600) }).map(own)
}

pub(crate) fn c_string(text: &OsStr) -> nix::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| Errno::EINVAL)
}

#[cfg(target_os = "linux")]
fn raw_setxattr(path: &CStr, name: &CStr, value: &[u8]) -> libc::c_int {
    let (data, size) = (value.as_ptr().cast(), value.len());
    // SAFETY: strings are NUL-terminated; data and size are one slice's.
    unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), data, size, 0) }
}

#[cfg(target_os = "macos")]
fn raw_setxattr(path: &CStr, name: &CStr, value: &[u8]) -> libc::c_int {
    let (data, size) = (value.as_ptr().cast(), value.len());
    // SAFETY: strings are NUL-terminated; data and size are one slice's.
    unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), data, size, 0, 0) }
}

#[cfg(target_os = "linux")]
fn raw_getxattr(path: &CStr, name: &CStr, value: &mut [u8]) -> libc::ssize_t {
    let (data, size) = (value.as_mut_ptr().cast(), value.len());
    // SAFETY: strings are NUL-terminated; data and size are one slice's.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), data, size) }
}

#[cfg(target_os = "macos")]
fn raw_getxattr(path: &CStr, name: &CStr, value: &mut [u8]) -> libc::ssize_t {
    let (data, size) = (value.as_mut_ptr().cast(), value.len());
    // SAFETY: strings are NUL-terminated; data and size are one slice's.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), data, size, 0, 0) }
}
