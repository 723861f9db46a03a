//! Linux: pidfds, the subreaper, private mounts.

pub(crate) mod table;

use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Gid, Pid, Uid, User, getppid, initgroups, setgid, setgroups, setuid};

use super::FileStatus;

/// A descriptor that becomes readable when `pid` exits; `None` where the kernel has none.
pub(crate) fn exit_watch(pid: Pid) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and returns a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the descriptor was just made and has no other owner.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes this process the parent of every orphan below it.
///
/// # Errors
/// The errno of prctl(2).
pub(crate) fn subreaper() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Makes this process the user's for good, as a login would: ids, groups, and what of the
/// environment names a home.
///
/// # Errors
/// The errno of what failed. Must be called while the process has one thread.
pub(crate) fn become_user(user: &User) -> io::Result<()> {
    let name = CString::new(user.name.as_str())?;
    initgroups(&name, user.gid)?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    if setuid(Uid::from_raw(0)).is_ok() {
        return Err(io::Error::other("root could be had back"));
    }
    // The change hides our own /proc files from us, the running program among them.
    prctl::set_dumpable(true)?;
    let own = [("HOME", user.dir.as_os_str()), ("USER", user.name.as_ref())];
    for (variable, value) in own.into_iter().chain([("LOGNAME", user.name.as_ref())]) {
        // SAFETY: callers have one thread, so no other thread reads the environment meanwhile.
        unsafe { std::env::set_var(variable, value) };
    }
    for variable in OF_A_HOME {
        // SAFETY: as above.
        unsafe { std::env::remove_var(variable) };
    }
    Ok(())
}

/// Makes this process the user's for good, in no group but `gid`. It stays as it was for all else,
/// and no other process of that user can look into it.
///
/// # Errors
/// The errno of what failed.
pub(crate) fn become_owner(uid: Uid, gid: Gid) -> io::Result<()> {
    setgroups(&[])?;
    setgid(gid)?;
    setuid(uid)?;
    match setuid(Uid::from_raw(0)) {
        Ok(()) => Err(io::Error::other("root could be had back")),
        Err(_) => Ok(prctl::set_dumpable(false)?),
    }
}

/// The variables that name directories of the user that set them.
const OF_A_HOME: [&str; 6] = [
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Keeps processes of the same user from tracing this one, and from its memory and descriptors; a
/// process with `CAP_SYS_PTRACE` is not kept from them. A child that executes a program is open
/// again.
///
/// # Errors
/// The errno of prctl(2).
pub(crate) fn deny_tracing() -> io::Result<()> {
    Ok(prctl::set_dumpable(false)?)
}

/// Ends this process, a child of `parent`, at most `patience` after `parent` has ended, even if it
/// is blocked in a system call by then: it has that long to clean up.
///
/// # Errors
/// The errno of what failed, or that `parent` has ended already.
pub(crate) fn end_after(parent: Pid, patience: Duration) -> io::Result<()> {
    SECONDS.store(u32::try_from(patience.as_secs()).unwrap_or(u32::MAX), Ordering::Relaxed);
    // SAFETY: the handler makes one system call, and loads a number.
    unsafe { signal(PARENT_ENDED, SigHandler::Handler(set_alarm)) }?;
    prctl::set_pdeathsig(PARENT_ENDED)?;
    match getppid() == parent {
        true => Ok(()),
        false => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// The signal that the kernel sends when the parent of [`end_after`] has ended.
const PARENT_ENDED: Signal = Signal::SIGUSR2;
/// The patience of [`end_after`].
static SECONDS: AtomicU32 = AtomicU32::new(0);

/// Has SIGALRM, whose default action it is, end this process.
extern "C" fn set_alarm(_: libc::c_int) {
    // SAFETY: alarm is async-signal-safe.
    unsafe { libc::alarm(SECONDS.load(Ordering::Relaxed)) };
}

/// Has the kernel send `signal` to this process when its parent dies.
///
/// # Errors
/// The errno of prctl(2).
pub(crate) fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(prctl::set_pdeathsig(signal)?)
}

/// Has the kernel send `signal` to `command` when its parent dies.
pub(crate) fn end_with_parent(command: &mut Command, signal: Signal) {
    // SAFETY: prctl is async-signal-safe.
    unsafe {
        command.pre_exec(move || die_with_parent(signal));
    }
}

/// The children of `parent`, orphans it has taken over included.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    match std::fs::read_to_string(path) {
        Ok(text) => {
            text.split_whitespace().filter_map(|n| n.parse().ok()).map(Pid::from_raw).collect()
        }
        Err(_) => children_by_scan(parent),
    }
}

/// Lists children on kernels without `children` files.
fn children_by_scan(parent: Pid) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent.as_raw())).map(Pid::from_raw).collect()
}

/// Returns the number of processes and threads of `uid`, as RLIMIT_NPROC counts them.
pub(crate) fn tasks_of_user(uid: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let tasks = processes.filter_map(|entry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let member = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let real: u32 = member("Uid:")?.split_whitespace().next()?.parse().ok()?;
        (real == uid).then(|| member("Threads:")?.trim().parse::<u64>().ok()).flatten()
    });
    tasks.sum()
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Gives this process a mount table of its own.
///
/// # Errors
/// The errno of unshare(2) or mount(2), as for everybody but root.
pub(crate) fn private_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&Path>;
    Ok(mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?)
}

/// The most bytes of a tmpfs, and the most files in it.
const ROOM: u64 = 1 << 30;
const INODES: u64 = 1 << 18;

/// Mounts an empty tmpfs over `directory`, of at most a GiB and a quarter of the available memory.
///
/// # Errors
/// The errno of mount(2).
pub(crate) fn own_tmpfs(directory: &Path) -> io::Result<()> {
    // Set-user-id bits count in it as they do elsewhere: controls must show what they do.
    let flags = MsFlags::MS_NODEV;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let size = available(&text).map_or(ROOM, |bytes| (bytes / 4).min(ROOM));
    let options = format!("mode=0755,size={size},nr_inodes={INODES}");
    Ok(mount(Some("tmpfs"), directory, Some("tmpfs"), flags, Some(options.as_str()))?)
}

/// The bytes of memory that can be had, as /proc/meminfo tells them.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(|kib: u64| kib << 10)
}

/// Returns what is at `path`, without following a link at its end, and the number of the mount that
/// it is on; 0 where the kernel does not tell that.
///
/// # Errors
/// The errno of statx(2).
pub(crate) fn file_status(path: &Path) -> io::Result<FileStatus> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    let asked = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, asked)?;
    let has_mount = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok(FileStatus {
        device: makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        mount: if has_mount { found.stx_mnt_id } else { 0 },
        mode: u32::from(found.stx_mode),
        owner: (found.stx_uid, found.stx_gid),
    })
}

/// Takes the mount at `point` out of the mount table, busy or not.
///
/// # Errors
/// The errno of umount2(2), as for everybody but root.
pub(crate) fn detach(point: &Path) -> io::Result<()> {
    Ok(umount2(point, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_there_is_is_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:      64 kB\nBuffers: 1 kB\n";
        assert_eq!((available(text), available("MemTotal: 1 kB\n")), (Some(65536), None));
    }
}
