//! Linux system calls that no safe wrapper offers.

use std::ffi::{CString, c_long};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, splice};
use nix::unistd::Pid;
use rustix::process::WaitId;

use super::SharedStack;

/// A process that cannot come to mean another one: its pidfd.
pub(crate) type ProcessHandle = OwnedFd;

/// First descriptor that is not a standard stream.
const FIRST_EXTRA: RawFd = 3;
/// `LANDLOCK_CREATE_RULESET_VERSION`.
const RULESET_VERSION: c_long = 1;
/// `LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET`.
const SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;

/// `struct landlock_ruleset_attr` of ABI 6.
#[repr(C)]
struct RulesetAttr {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Marks every descriptor but 0, 1 and 2 close-on-exec.
pub(crate) fn seal_descriptors() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC as c_long;
    // SAFETY: close_range with CLOEXEC only sets flags on descriptors of this process.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST_EXTRA as c_long, c_long::from(u32::MAX), flags)
    };
    checked(result).map(drop)
}

/// Starts a child that runs `body` in our memory, on a stack of its own, and waits until it has
/// executed a program or exited: no page table is copied. The caller must have one thread only.
pub(crate) fn spawn_child<F: FnOnce() -> i32>(body: F) -> nix::Result<(Pid, ProcessHandle)> {
    let stack = SharedStack::new()?;
    let child = super::clone_on(&stack, libc::CLONE_VFORK, &mut Some(body));
    stack.release();
    child
}

/// A descriptor for the process `pid`: ourselves, or a child that is not reaped.
pub(crate) fn open_process(pid: Pid) -> io::Result<ProcessHandle> {
    // SAFETY: pidfd_open takes two integers and returns a new descriptor.
    let fd = checked(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Sends `signal` to the process behind `pidfd`; a process that has ended is no error.
pub(crate) fn signal_process(pidfd: &ProcessHandle, signal: i32) -> io::Result<()> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open; a null siginfo means a plain kill.
    let result = checked(unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, none, 0)
    });
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other.map(drop),
    }
}

/// Waits for the end of one child; `None` if it is not ours to reap.
pub(crate) fn reap_process(process: &ProcessHandle) -> io::Result<Option<ExitStatus>> {
    super::reaped(&WaitId::PidFd(process.as_fd()))
}

/// This executable by descriptor: inside a box its path may be hidden.
pub(crate) fn own_executable() -> io::Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    Ok(File::options().read(true).custom_flags(flags).open("/proc/self/exe")?.into())
}

/// A memory file that holds `content`, positioned at its start.
pub(crate) fn memory_file(content: &[u8]) -> io::Result<File> {
    use std::io::{Seek, Write};
    let flags = nix::sys::memfd::MFdFlags::MFD_CLOEXEC;
    let mut file = File::from(nix::sys::memfd::memfd_create("refbox", flags)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// A process can be a subreaper, so that without a child no descendant is left.
pub(crate) const ADOPTS_ORPHANS: bool = true;

/// Makes this process the parent of every orphan below it.
pub(crate) fn adopt_orphans() -> nix::Result<()> {
    nix::sys::prctl::set_child_subreaper(true)
}

/// Makes this process non-dumpable, which closes its memory and its `/proc` directory to others.
pub(crate) fn hide_memory() -> nix::Result<()> {
    nix::sys::prctl::set_dumpable(false)
}

/// Sets no_new_privs: executing a program gains no privilege any more.
pub(crate) fn gain_nothing() -> nix::Result<()> {
    nix::sys::prctl::set_no_new_privs()
}

/// No variable marks a command: its processes are found as children of the stage.
pub(crate) fn mark() -> Option<CString> {
    None
}

/// Sets the capacity of `pipe` to `bytes`, as far as this user may.
pub(crate) fn enlarge(pipe: &File, bytes: i32) {
    // Refused past the user's share of pages; then it is merely slower.
    let _smaller = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(bytes));
}

/// Moves at most so many bytes from `pipe` to `abyss` without copying; returns the number, or
/// `None` where the kernel cannot.
pub(crate) fn discard(pipe: &File, abyss: &File, most: usize) -> Option<nix::Result<usize>> {
    let flags = SpliceFFlags::SPLICE_F_NONBLOCK | SpliceFFlags::SPLICE_F_MOVE;
    match splice(pipe, None, abyss, None, most, flags) {
        Err(Errno::EINVAL | Errno::ENOSYS) => None,
        moved => Some(moved),
    }
}

/// Landlock's ABI version; 0 where the kernel has none.
pub(crate) fn landlock_abi() -> i64 {
    let none = std::ptr::null::<RulesetAttr>();
    // SAFETY: with this flag the kernel reads no attribute and returns a version number.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0, RULESET_VERSION) };
    result.max(0)
}

/// A ruleset that cuts off abstract unix sockets outside it (Landlock ABI 6).
pub(crate) fn abstract_socket_scope() -> io::Result<OwnedFd> {
    let attr = RulesetAttr {
        handled_access_fs: 0,
        handled_access_net: 0,
        scoped: SCOPE_ABSTRACT_UNIX_SOCKET,
    };
    let size = size_of::<RulesetAttr>();
    // SAFETY: the attribute lives through the call and its size is given.
    let fd = checked(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attr, size, 0)
    })?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Puts this process under `ruleset`; it must have no_new_privs.
pub(crate) fn restrict_self(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: the ruleset descriptor is open; restricting oneself is always sound.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) })
        .map(drop)
}

/// Returns whether the sockets of a command can be told from others: its calls can come to us, and the
/// kernel says where a socket is bound.
pub(crate) fn tells_sockets() -> bool {
    super::notify::can_listen() && super::socket_table::is_there()
}

/// Returns whether the file system of `directory` declares that it ignores case: by the directory's
/// own flag (ext4, f2fs), or by a type that always does.
pub(crate) fn ignores_case(directory: &std::path::Path) -> bool {
    /// vfat, exFAT, NTFS, CIFS, SMB 2, HFS, HFS+.
    const ALWAYS: [i128; 7] =
        [0x4d44, 0x2011_bab0, 0x5346_544e, 0xff53_4d42, 0xfe53_4d42, 0x4244, 0x482b];
    /// `FS_CASEFOLD_FL`.
    const FOLDS: c_long = 0x4000_0000;
    let Ok(file) = File::open(directory) else { return false };
    // Of another type in each C library.
    let kind = nix::sys::statfs::fstatfs(&file).map(|found| i128::from(found.filesystem_type().0));
    let mut flags: c_long = 0;
    // SAFETY: the number lives through the call, which writes at most that much.
    let got = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) };
    got == 0 && flags & FOLDS != 0 || kind.is_ok_and(|kind| ALWAYS.contains(&kind))
}

/// `_LINUX_CAPABILITY_VERSION_3`: two words a set.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// One word of each capability set.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct CapabilityData {
    pub(super) effective: u32,
    pub(super) permitted: u32,
    pub(super) inheritable: u32,
}

/// Runs `body` with no effective capability in this thread, then puts them back.
pub(crate) fn without_capabilities<T>(body: impl FnOnce() -> T) -> io::Result<T> {
    let saved = capabilities()?;
    set_capabilities(&saved.map(|word| CapabilityData { effective: 0, ..word }))?;
    let result = body();
    set_capabilities(&saved)?;
    Ok(result)
}

/// The capability sets of this thread.
pub(super) fn capabilities() -> io::Result<[CapabilityData; 2]> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    let mut words = [CapabilityData::default(); 2];
    // SAFETY: header and both words live through the call and have the layout of version 3.
    let got = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) };
    checked(got).map(|_| words)
}

/// Sets the capability sets of this thread.
pub(super) fn set_capabilities(words: &[CapabilityData; 2]) -> io::Result<()> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    // SAFETY: header and both words live through the call and have the layout of version 3.
    let set = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) };
    checked(set).map(drop)
}
