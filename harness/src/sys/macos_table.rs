//! macOS's table of processes and mounts, from libproc, sysctl and getfsstat. Type-checked only:
//! nothing of this has run on macOS yet.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;

use nix::unistd::{Pid, SysconfVar, getpid, sysconf};

use crate::sys::procargs::{ProcessWords, parted};

/// Numbers that a list has room for beyond those that were just there.
const ROOM: usize = 64;
/// Bytes of arguments and environment where the system does not say how many there can be.
const USUAL: usize = 1 << 20;

/// Checks that the table can be read: finding nothing must mean that nothing is left.
///
/// # Errors
/// The part that cannot be read.
pub(crate) fn check_sight() -> io::Result<()> {
    let blind = |what: &str| Err(io::Error::other(format!("cannot see what a run leaves: {what}")));
    match () {
        () if !processes().contains(&getpid()) => blind("libproc does not list this process"),
        () if command_words(getpid()).is_empty() => {
            blind("sysctl does not tell this process's words")
        }
        () if variables(getpid()).is_empty() => blind("sysctl does not tell its environment"),
        () if mounts().is_empty() => blind("getfsstat tells of no mount"),
        () => Ok(()),
    }
}

/// Lists every process.
pub(crate) fn processes() -> Vec<Pid> {
    // SAFETY: without a list it only tells how many there are.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut list: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or_default() + ROOM];
    let bytes = size_of_val(list.as_slice()) as c_int;
    // SAFETY: the list lives through the call, and its size in bytes is given.
    let count = unsafe { libc::proc_listallpids(list.as_mut_ptr().cast(), bytes) };
    list.truncate(usize::try_from(count).unwrap_or_default());
    list.into_iter().filter(|pid| *pid > 0).map(Pid::from_raw).collect()
}

/// The words that a process was started with, a NUL behind each; of a dead one there are none.
pub(crate) fn command_words(pid: Pid) -> Vec<u8> {
    parts(pid).map(|parts| parts.words).unwrap_or_default()
}

/// Its environment, a NUL behind each variable, as far as it can be read.
pub(crate) fn variables(pid: Pid) -> Vec<u8> {
    parts(pid).map(|parts| parts.variables).unwrap_or_default()
}

fn parts(pid: Pid) -> Option<ProcessWords> {
    let most = sysconf(SysconfVar::ARG_MAX).ok().flatten();
    let mut bytes = vec![0_u8; most.and_then(|most| usize::try_from(most).ok()).unwrap_or(USUAL)];
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid.as_raw()];
    let mut length = bytes.len();
    let (place, none) = (bytes.as_mut_ptr().cast(), std::ptr::null_mut());
    // SAFETY: name and buffer live through the call, and their lengths are given.
    let got = unsafe { libc::sysctl(name.as_mut_ptr(), 3, place, &raw mut length, none, 0) };
    bytes.truncate(if got == 0 { length } else { 0 });
    parted(&bytes)
}

/// Returns the kernel's name for the process.
pub(crate) fn name(pid: Pid) -> String {
    let Some(info) = info(pid) else { return String::new() };
    let bytes = info.pbi_comm.map(|byte| byte as u8);
    let text = CStr::from_bytes_until_nul(&bytes).map(CStr::to_string_lossy);
    text.map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// The parent of a process, its user, and its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) parent: Pid,
    /// The real user.
    pub(crate) uid: u32,
    /// The start time in microseconds; two processes that had the same number differ in it.
    pub(crate) started: u64,
}

/// The origin of a process that is still there.
pub(crate) fn origin(pid: Pid) -> Option<Origin> {
    let info = info(pid)?;
    let parent = Pid::from_raw(info.pbi_ppid.cast_signed());
    let started = info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec;
    Some(Origin { parent, uid: info.pbi_ruid, started })
}

/// Returns whether a signal has stopped `pid`.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    info(pid).is_some_and(|info| info.pbi_status == libc::SSTOP)
}

/// Returns whether `pid` can do nothing any more: it is gone, or a zombie.
pub(crate) fn is_doomed(pid: Pid) -> bool {
    info(pid).is_none_or(|info| info.pbi_status == libc::SZOMB)
}

fn info(pid: Pid) -> Option<libc::proc_bsdinfo> {
    let size = size_of::<libc::proc_bsdinfo>() as c_int;
    // SAFETY: all zeroes is a valid value of this structure of numbers.
    let mut info: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let (place, kind): (*mut c_void, c_int) = ((&raw mut info).cast(), libc::PROC_PIDTBSDINFO);
    // SAFETY: the structure lives through the call, and its size is given.
    let got = unsafe { libc::proc_pidinfo(pid.as_raw(), kind, 0, place, size) };
    (got == size).then_some(info)
}

/// The mounts this process sees, a line each, the point in the fifth column.
pub(crate) fn mounts() -> String {
    // SAFETY: without a list it only tells how many there are.
    let count = unsafe { libc::getfsstat(std::ptr::null_mut(), 0, libc::MNT_NOWAIT) };
    // SAFETY: all zeroes is a valid value of this structure of numbers and bytes.
    let blank: libc::statfs = unsafe { std::mem::zeroed() };
    let mut list = vec![blank; usize::try_from(count).unwrap_or_default() + ROOM];
    let bytes = size_of_val(list.as_slice()) as c_int;
    // SAFETY: the list lives through the call, and its size in bytes is given.
    let count = unsafe { libc::getfsstat(list.as_mut_ptr(), bytes, libc::MNT_NOWAIT) };
    list.truncate(usize::try_from(count).unwrap_or_default());
    list.iter().map(line).collect()
}

fn line(mount: &libc::statfs) -> String {
    let text = |bytes: &[libc::c_char]| {
        let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).take_while(|b| *b != 0).collect();
        std::ffi::OsStr::from_bytes(&bytes)
            .to_string_lossy()
            .replace('\\', "\\134")
            .replace(' ', "\\040")
    };
    let (from, on, kind) =
        (text(&mount.f_mntfromname), text(&mount.f_mntonname), text(&mount.f_fstypename));
    format!("- - - {from} {on} {kind} {:x}\n", mount.f_flags)
}
