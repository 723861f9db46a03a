//! Forking into new namespaces, and giving up inherited descriptors, environment and privileges.

use std::ffi::{c_int, c_long, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::unistd::Pid;

use super::linux::CapabilityData;
use crate::sys::fork_guard::{block_signals, parent_or};

/// Forks into the namespaces of `flags`; the child runs `body` and never returns. The caller must
/// have one thread only. Returns the child and a descriptor of it.
pub(crate) fn fork_into(
    flags: CloneFlags,
    body: impl FnOnce() -> i32,
) -> nix::Result<(Pid, OwnedFd)> {
    let mut process: RawFd = -1;
    let flags = (flags.bits() | libc::CLONE_PIDFD | libc::SIGCHLD) as c_ulong;
    let mask = block_signals()?;
    // SAFETY: without CLONE_VM the child has a copy of our memory and, with a null stack, continues
    // here as after fork; `process` outlives the call; we are single-threaded.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, &raw mut process, 0, 0) };
    let pid = parent_or(body, pid as i32, &mask)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(process) }))
}

/// Forks; the child runs `body` and never returns. The caller must have one thread only.
pub(crate) fn fork(body: impl FnOnce() -> i32) -> nix::Result<Pid> {
    fork_into(CloneFlags::empty(), body).map(|(child, _)| child)
}

/// Closes every descriptor but the standard streams and `kept`.
///
/// Owners of the others are left with numbers that mean nothing: for a forked child only, which
/// keeps none of them.
pub(crate) fn close_all_but(kept: &mut [RawFd]) -> nix::Result<()> {
    kept.sort_unstable();
    let mut first: RawFd = 3;
    for fd in kept.iter() {
        if *fd > first {
            close_range(first, (*fd - 1) as u32)?;
        }
        first = first.max(*fd + 1);
    }
    let last = if fault!("mechanism.high-descriptors") { 1023 } else { u32::MAX };
    if fault!("mechanism.descriptors") {
        return Ok(());
    }
    close_range(first, last)
}

fn close_range(first: RawFd, last: u32) -> nix::Result<()> {
    // SAFETY: closing by number; the caller's contract is that these are not used again.
    Errno::result(unsafe {
        libc::syscall(libc::SYS_close_range, first as c_long, c_long::from(last), 0)
    })
    .map(drop)
}

/// Overwrites the environment this process was started with, which `/proc` would show.
///
/// For a forked child only that asks for no variable any more.
pub(crate) fn wipe_environment() {
    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: `environ` ends with a null; each entry is a C string of ours, writable as the stack
    // or heap it lies on, and no other thread reads it.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = *entry;
            libc::explicit_bzero(text.cast(), libc::strlen(text));
            entry = entry.add(1);
        }
    }
}

/// Kills this process when its parent dies.
pub(crate) fn die_with_parent() -> nix::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
}

/// Returns whether this process has all capabilities that building a view without a user namespace
/// needs.
pub(crate) fn is_privileged() -> bool {
    const NEEDED: u32 = 1 << CAP_SETPCAP | 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    let held = super::capabilities().map(|words| words[0].effective);
    nix::unistd::geteuid().is_root() && held.is_ok_and(|held| held & NEEDED == NEEDED)
}

const CAP_SETPCAP: u32 = 8;
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;

/// Gives up every capability for good: bounding, ambient, effective, permitted, inheritable. With
/// `looks` the right to look into other processes can still be raised for a moment.
pub(crate) fn drop_privileges(looks: bool) -> io::Result<()> {
    if fault!("mechanism.capabilities") {
        return Ok(());
    }
    for capability in 0.. {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            // One past the last that this kernel knows.
            Err(Errno::EINVAL) => break,
            other => other?,
        }
    }
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong)?;
    let kept = if looks { 1 << CAP_SYS_PTRACE } else { 0 };
    let word = CapabilityData { permitted: kept, ..CapabilityData::default() };
    super::set_capabilities(&[word, CapabilityData::default()])?;
    Ok(nix::sys::prctl::set_no_new_privs()?)
}

/// Gives up the capabilities that [`drop_privileges`] kept.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    if fault!("mechanism.capabilities") {
        return Ok(());
    }
    super::set_capabilities(&Default::default())
}

fn prctl(operation: c_int, argument: c_ulong) -> nix::Result<()> {
    // SAFETY: the operations used here take one number and change only this process.
    Errno::result(unsafe { libc::prctl(operation, argument, 0, 0, 0) }).map(drop)
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn raise_loopback() -> nix::Result<()> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: all zeroes is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives through the call and has the layout that SIOCSIFFLAGS reads.
    let raised =
        unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    Errno::result(raised).map(drop)
}
