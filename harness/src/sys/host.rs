//! Trying out what this host allows, in children that do nothing else.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

/// Runs `act` in a child; its error number, 0 for success, is the child's exit code.
///
/// `act` runs between fork and exit, so it makes system calls and nothing else: no allocation, no
/// locks, no panic.
pub(super) fn in_child(act: impl FnOnce() -> Result<(), Errno>) -> io::Result<()> {
    // SAFETY: the child calls only `act`, which keeps to async-signal-safe calls, and `_exit`.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let code = act().err().map_or(0, |errno| errno as i32);
            // SAFETY: `_exit` ends the child without running anything of the parent's.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => loop {
            match waitpid(child, None) {
                Err(Errno::EINTR) => {}
                Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
                Ok(WaitStatus::Exited(_, code)) => return Err(io::Error::from_raw_os_error(code)),
                Ok(status) => return Err(io::Error::other(format!("the child ended: {status:?}"))),
                Err(errno) => return Err(errno.into()),
            }
        },
    }
}

/// Makes a user namespace with a mount namespace, maps `uid` and `gid` into it and changes its
/// mounts: a namespace in which nothing is allowed is as good as none.
#[cfg(target_os = "linux")]
pub(crate) fn try_user_namespace(uid: u32, gid: u32) -> io::Result<()> {
    in_user_namespace(uid, gid, || Ok(()))
}

/// Makes such a namespace, and an empty file system the root directory in it.
#[cfg(target_os = "linux")]
pub(crate) fn try_own_root(uid: u32, gid: u32) -> io::Result<()> {
    in_user_namespace(uid, gid, || {
        let (tmpfs, none) = (c"tmpfs".as_ptr(), std::ptr::null());
        // A place that is there: the maps were written in it.
        let (place, here) = (c"/proc".as_ptr(), c".".as_ptr());
        // SAFETY: source, place and type are C strings; there is no data.
        Errno::result(unsafe { libc::mount(tmpfs, place, tmpfs, 0, none) })?;
        // SAFETY: the path is a C string.
        Errno::result(unsafe { libc::chdir(place) })?;
        // SAFETY: both paths are C strings.
        Errno::result(unsafe { libc::syscall(libc::SYS_pivot_root, here, here) })?;
        Ok(())
    })
}

/// Runs `act` in a user namespace with mounts of its own, to which `uid` and `gid` are mapped.
#[cfg(target_os = "linux")]
fn in_user_namespace(
    uid: u32,
    gid: u32,
    act: impl FnOnce() -> Result<(), Errno>,
) -> io::Result<()> {
    let maps = [
        (c"/proc/self/setgroups", "deny".to_owned()),
        (c"/proc/self/uid_map", format!("0 {uid} 1")),
        (c"/proc/self/gid_map", format!("0 {gid} 1")),
    ];
    in_child(|| {
        // SAFETY: takes flags only.
        Errno::result(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) })?;
        for (file, text) in &maps {
            write_at_once(file, text)?;
        }
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        let none = std::ptr::null();
        // SAFETY: the path is a C string; the other pointers may be null for these flags.
        Errno::result(unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) })?;
        act()
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn try_user_namespace(_: u32, _: u32) -> io::Result<()> {
    Err(Errno::ENOSYS.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn try_own_root(_: u32, _: u32) -> io::Result<()> {
    Err(Errno::ENOSYS.into())
}

#[cfg(target_os = "linux")]
pub(super) fn write_at_once(file: &std::ffi::CStr, text: &str) -> Result<(), Errno> {
    // The files of a process that denies tracing belong to root.
    // SAFETY: changes a flag of this child, which executes a program or ends next.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) })?;
    // SAFETY: the path is a C string, and no mode is needed without O_CREAT.
    let fd = Errno::result(unsafe { libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) })?;
    // SAFETY: the buffer is as long as it says; the descriptor ends with this child.
    Errno::result(unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) })?;
    Ok(())
}

/// Types one byte into a fresh terminal of the child's own.
pub(crate) fn try_typing_into_terminal() -> io::Result<()> {
    let pair = nix::pty::openpty(None, None)?;
    let terminal: RawFd = pair.slave.as_raw_fd();
    in_child(|| {
        // SAFETY: takes nothing; the child is no group leader, so that it can lead a session.
        Errno::result(unsafe { libc::setsid() })?;
        // SAFETY: the descriptor is an open terminal, the argument an integer.
        Errno::result(unsafe { libc::ioctl(terminal, libc::TIOCSCTTY as _, 0) })?;
        let byte = b'x';
        // SAFETY: the descriptor is an open terminal, the argument points to one readable byte.
        Errno::result(unsafe { libc::ioctl(terminal, libc::TIOCSTI as _, &raw const byte) })?;
        Ok(())
    })
}

/// Asks whether this process has a key ring, which makes none.
#[cfg(target_os = "linux")]
pub(crate) fn try_key_rings() -> io::Result<()> {
    /// `KEYCTL_GET_KEYRING_ID` and `KEY_SPEC_PROCESS_KEYRING` of keyctl(2).
    const RING: (std::ffi::c_long, std::ffi::c_long) = (0, -2);
    // SAFETY: keyctl takes three numbers here.
    let found = Errno::result(unsafe { libc::syscall(libc::SYS_keyctl, RING.0, RING.1, 0) });
    match found {
        Ok(_) | Err(Errno::ENOKEY) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Fails: key rings are Linux's.
#[cfg(not(target_os = "linux"))]
pub(crate) fn try_key_rings() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes a vsock socket and closes it.
#[cfg(target_os = "linux")]
pub(crate) fn try_vsock() -> io::Result<()> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    Ok(socket(AddressFamily::Vsock, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).map(drop)?)
}

/// Fails: this harness makes no vsock sockets here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn try_vsock() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sets a `user.` attribute on `file`.
pub(crate) fn set_user_attribute(file: &Path) -> io::Result<()> {
    let file = CString::new(file.as_os_str().as_encoded_bytes())?;
    let (name, value) = (c"user.boxproof".as_ptr(), b"1");
    #[cfg(target_os = "linux")]
    // SAFETY: path and name are C strings, the value is as long as it says.
    let set = unsafe { libc::setxattr(file.as_ptr(), name, value.as_ptr().cast(), 1, 0) };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: path and name are C strings, the value is as long as it says.
    let set = unsafe { libc::setxattr(file.as_ptr(), name, value.as_ptr().cast(), 1, 0, 0) };
    Errno::result(set)?;
    Ok(())
}

/// The version of Landlock that the kernel offers; 0 where there is none.
#[cfg(target_os = "linux")]
pub(crate) fn landlock_abi() -> u32 {
    const VERSION: u32 = 1;
    let none = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel reads no attributes: null and size 0 are what it wants.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    u32::try_from(abi).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn landlock_abi() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_childs_error_is_ours() {
        assert!(in_child(|| Ok(())).is_ok());
        let error = in_child(|| Err(Errno::EPERM)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn a_child_that_dies_is_no_success() {
        let killed = in_child(|| {
            // SAFETY: ends this child only.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            Ok(())
        });
        assert!(killed.unwrap_err().to_string().contains("SIGKILL"));
    }
}
