//! The code that must run between fork and exec, or by raw calls: the only unsafe test code.

use std::ffi::CString;
use std::io::Error;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::support::{Call, is_root};

/// The action of a filter on one call. `only` narrows it to calls in which the argument word of
/// that index has one of these bits. An argument has two words, the lower one first.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) call: libc::c_long,
    pub(crate) only: Option<(u32, u32)>,
    pub(crate) action: u32,
}

/// Kills, so that the call is SIGSYS.
pub(crate) const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

/// Fails the call with `errno`.
pub(crate) fn fail(errno: Errno) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

/// Runs `step` in the child before it executes the program.
pub(crate) fn before_exec(
    mut call: Call,
    mut step: impl FnMut() -> nix::Result<()> + Send + Sync + 'static,
) -> Call {
    let step = move || step().map_err(Error::from);
    // SAFETY: the steps of these tests make system calls on values prepared earlier.
    unsafe { call.command.pre_exec(step) };
    call
}

/// Puts the program under a seccomp filter, and so under no_new_privs.
pub(crate) fn filtered(call: Call, rule: Rule) -> Call {
    let code = program(rule);
    before_exec(call, move || {
        nix::sys::prctl::set_no_new_privs()?;
        let filter = libc::sock_fprog { len: 6, filter: code.as_ptr().cast_mut() };
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: `filter` describes `code`, which the kernel only reads.
        Errno::result(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) })
            .map(drop)
    })
}

/// Number right, bits right: the action; else allow.
fn program(rule: Rule) -> [libc::sock_filter; 6] {
    let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let bits = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    // Without `only`, the upper half of the number's word pair is never read: any bit of
    // the architecture word, which is never zero, will do.
    let (offset, mask) = rule.only.map_or((4, u32::MAX), |(index, mask)| (16 + 4 * index, mask));
    let number = u32::try_from(rule.call).expect("a small number");
    [
        op(load, 0, 0, 0),
        op(equal, 0, 3, number),
        op(load, 0, 0, offset),
        op(bits, 0, 1, mask),
        op(libc::BPF_RET, 0, 0, rule.action),
        op(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Lets the program inherit `fd` as `number`.
pub(crate) fn inheriting(call: Call, fd: &OwnedFd, number: i32) -> Call {
    let fd = fd.as_raw_fd();
    before_exec(call, move || {
        let inherited = if fd == number {
            // Onto itself, dup2 would leave the descriptor marked close-on-exec.
            // SAFETY: takes numbers only; the test keeps `fd` open.
            unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }
        } else {
            // SAFETY: as above; any descriptor that was at `number` is the child's own.
            unsafe { libc::dup2(fd, number) }
        };
        Errno::result(inherited).map(drop)
    })
}

/// Gives the program mount, network and, without privilege, user namespaces of its own.
pub(crate) fn private(call: Call) -> Call {
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {uid} 1")),
        ("/proc/self/gid_map", format!("0 {gid} 1")),
    ];
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    before_exec(call, move || {
        if is_root() {
            unshare(own)?;
        } else {
            unshare(own | CloneFlags::CLONE_NEWUSER)?;
            maps.iter().try_for_each(|(file, text)| put(file, text))?;
        }
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
    })
}

fn put(file: &str, text: &str) -> nix::Result<()> {
    use nix::fcntl::{AT_FDCWD, OFlag, openat};
    let file = openat(AT_FDCWD, file, OFlag::O_WRONLY, nix::sys::stat::Mode::empty())?;
    nix::unistd::write(&file, text.as_bytes()).map(drop)
}

/// Covers `path` with a tmpfs in the program's own namespace, read-only if told.
pub(crate) fn covered(call: Call, path: &Path, read_only: bool) -> Call {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL");
    before_exec(private(call), move || {
        let (none, tmpfs) = (None::<&str>, Some("tmpfs"));
        mount(tmpfs, path.as_c_str(), tmpfs, MsFlags::empty(), none)?;
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        if read_only { mount(none, path.as_c_str(), none, flags, none) } else { Ok(()) }
    })
}

/// Makes `tty` the program's controlling terminal, in a session of its own.
pub(crate) fn on_terminal(call: Call, tty: Option<&OwnedFd>) -> Call {
    let tty = tty.map(AsRawFd::as_raw_fd);
    before_exec(call, move || {
        nix::unistd::setsid()?;
        let Some(tty) = tty else { return Ok(()) };
        // SAFETY: takes numbers only; the test keeps `tty` open.
        Errno::result(unsafe { libc::ioctl(tty, libc::TIOCSCTTY, 0) }).map(drop)
    })
}

/// A System V shared memory segment that goes with the test.
pub(crate) struct Segment(libc::c_int);

impl Segment {
    pub(crate) fn new(key: i32) -> Self {
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        // SAFETY: takes numbers only.
        Self(Errno::result(unsafe { libc::shmget(key, 4096, flags) }).expect("a free key"))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: removes the segment that `new` made; the null pointer is not used.
        unsafe { libc::shmctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Asks the kernel for this process's session keyring.
pub(crate) fn session_keyring() -> nix::Result<u64> {
    let (get, session, create) = (libc::c_long::from(libc::KEYCTL_GET_KEYRING_ID), -3_i64, 0_i64);
    // SAFETY: the operation takes two numbers.
    let serial = unsafe { libc::syscall(libc::SYS_keyctl, get, session, create) };
    Errno::result(serial).map(libc::c_long::unsigned_abs)
}

/// Asks the kernel for an io_uring.
pub(crate) fn io_uring() -> nix::Result<()> {
    let mut params = [0_u32; 30];
    // SAFETY: `params` has the size of struct io_uring_params.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    let fd = Errno::result(fd)?;
    nix::unistd::close(i32::try_from(fd).expect("a descriptor"))
}

/// Asks the kernel for this process's personality.
pub(crate) fn personality() -> u64 {
    // SAFETY: 0xffffffff only asks.
    u64::from(unsafe { libc::personality(0xffff_ffff) }.unsigned_abs())
}

/// Asks the kernel for a handle of `path`.
pub(crate) fn handle(path: &Path) -> Result<(), String> {
    let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL");
    // struct file_handle: its room, its kind, and 128 bytes.
    let (mut handle, mut mount) = ([0_u32; 34], 0_i32);
    handle[0] = 128;
    let (call, cwd) = (libc::SYS_name_to_handle_at, libc::AT_FDCWD);
    let (handle_at, mount_at) = (handle.as_mut_ptr(), &raw mut mount);
    // SAFETY: a NUL-terminated string, a handle that says its room, a place for an int.
    let asked = unsafe { libc::syscall(call, cwd, path.as_ptr(), handle_at, mount_at, 0) };
    Errno::result(asked).map(drop).map_err(|errno| format!("{errno:?}"))
}

/// Makes the call `number` with null and -1 arguments, with which no call that these tests ask
/// about has a lasting effect.
pub(crate) fn bare(number: libc::c_long) -> nix::Result<()> {
    // SAFETY: no argument points anywhere.
    let fd = Errno::result(unsafe { libc::syscall(number, -1_i64, 0_i64, 0_i64, 0_i64, 0_i64) })?;
    nix::unistd::close(i32::try_from(fd).expect("a descriptor"))
}
