//! Linux calls without a wrapper in libc.

use std::ffi::OsStr;
use std::os::fd::{OwnedFd, RawFd};

use nix::NixPath;
use nix::errno::Errno;

use super::own;

/// KEY_SPEC_SESSION_KEYRING of keyctl(2).
const SESSION_KEYRING: libc::c_long = -3;

/// renameat2(2) from and to the current directory.
pub(crate) fn renameat2(from: &OsStr, to: &OsStr, flags: libc::c_uint) -> nix::Result<()> {
    let cwd = libc::AT_FDCWD;
    let renamed = from.with_nix_path(|from| {
        to.with_nix_path(|to| {
            let call = libc::SYS_renameat2;
            // SAFETY: both are NUL-terminated strings that outlive the call.
            unsafe { libc::syscall(call, cwd, from.as_ptr(), cwd, to.as_ptr(), flags) }
        })
    })??;
    Errno::result(renamed).map(drop)
}

/// keyctl(2) KEYCTL_JOIN_SESSION_KEYRING with a new, nameless keyring.
pub(crate) fn join_session_keyring() -> nix::Result<u64> {
    let nameless = std::ptr::null::<libc::c_char>();
    // SAFETY: a null name asks for an anonymous keyring.
    let serial = unsafe {
        libc::syscall(
            libc::SYS_keyctl,
            libc::c_long::from(libc::KEYCTL_JOIN_SESSION_KEYRING),
            nameless,
        )
    };
    Errno::result(serial).map(libc::c_long::unsigned_abs)
}

/// keyctl(2) KEYCTL_GET_KEYRING_ID of the session keyring, not creating one.
pub(crate) fn session_keyring() -> nix::Result<u64> {
    let get = libc::c_long::from(libc::KEYCTL_GET_KEYRING_ID);
    let create: libc::c_long = 0;
    // SAFETY: the operation takes two numbers.
    let serial = unsafe { libc::syscall(libc::SYS_keyctl, get, SESSION_KEYRING, create) };
    Errno::result(serial).map(libc::c_long::unsigned_abs)
}

/// io_uring_setup(2) for one entry.
pub(crate) fn io_uring_setup() -> nix::Result<OwnedFd> {
    // struct io_uring_params: 120 bytes, all zero for the defaults.
    let mut params = [0_u32; 30];
    // SAFETY: the kernel writes its answer into `params`, which has the size it knows.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    let fd = Errno::result(fd)?;
    RawFd::try_from(fd).map(own).map_err(|_| Errno::EBADF)
}

/// personality(2): the present one, which asking does not change.
pub(crate) fn personality() -> nix::Result<u64> {
    // SAFETY: 0xffffffff only asks.
    Errno::result(unsafe { libc::personality(0xffff_ffff) })
        .map(|value| u64::from(value.unsigned_abs()))
}

/// shmget(2) of an existing segment, then shmat(2) read-only and shmdt(2).
/// The error names the call.
pub(crate) fn attach_shm(key: i32) -> Result<(), (&'static str, Errno)> {
    // SAFETY: takes numbers only; without IPC_CREAT nothing is made.
    let id = Errno::result(unsafe { libc::shmget(key, 0, 0) }).map_err(|e| ("shmget", e))?;
    // SAFETY: the kernel chooses the address, which is only given back below.
    let place = unsafe { libc::shmat(id, std::ptr::null(), libc::SHM_RDONLY) };
    if place as isize == -1 {
        return Err(("shmat", Errno::last()));
    }
    // SAFETY: `place` came from shmat and nothing refers to it.
    Errno::result(unsafe { libc::shmdt(place) }).map(drop).map_err(|e| ("shmdt", e))
}
