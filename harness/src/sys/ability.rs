//! Trying out, in children, the parts of sandboxes: each kind of namespace, a `/proc` of one's own,
//! a listener for system calls.

use std::io;

use nix::errno::Errno;

#[cfg(target_os = "linux")]
use super::host::in_child;

/// Kinds of namespaces, by the kernel's word.
#[cfg(target_os = "linux")]
const KINDS: [(&str, libc::c_int); 7] = [
    ("user", 0),
    ("mnt", libc::CLONE_NEWNS),
    ("pid", libc::CLONE_NEWPID),
    ("net", libc::CLONE_NEWNET),
    ("ipc", libc::CLONE_NEWIPC),
    ("uts", libc::CLONE_NEWUTS),
    ("cgroup", libc::CLONE_NEWCGROUP),
];

/// Makes a user namespace and, in it, one of the kind `word`.
#[cfg(target_os = "linux")]
pub(crate) fn try_namespace(word: &str) -> io::Result<()> {
    let kind = KINDS.iter().find(|(known, _)| *known == word);
    let Some((_, flag)) = kind else { return Err(Errno::EINVAL.into()) };
    let flags = libc::CLONE_NEWUSER | flag;
    // SAFETY: takes flags only.
    in_child(|| Errno::result(unsafe { libc::unshare(flags) }).map(drop))
}

/// Mounts a `/proc` for a pid namespace of its own.
#[cfg(target_os = "linux")]
pub(crate) fn try_proc() -> io::Result<()> {
    in_child(|| {
        let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
        // SAFETY: takes flags only.
        Errno::result(unsafe { libc::unshare(flags) })?;
        // SAFETY: this process has one thread, and its child only makes system calls.
        match Errno::result(unsafe { libc::fork() })? {
            0 => {
                let code = mount_proc().err().map_or(0, |errno| errno as i32);
                // SAFETY: ends the child without running anything of the parent's.
                unsafe { libc::_exit(code) }
            }
            child => ended(child),
        }
    })
}

#[cfg(target_os = "linux")]
fn mount_proc() -> Result<(), Errno> {
    let (none, root, proc) = (std::ptr::null(), c"/".as_ptr(), c"proc".as_ptr());
    let alone = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the path is a C string; the other pointers may be null for these flags.
    Errno::result(unsafe { libc::mount(none, root, none, alone, none.cast()) })?;
    let place = c"/proc".as_ptr();
    // SAFETY: source, place and type are C strings; there is no data.
    Errno::result(unsafe { libc::mount(proc, place, proc, 0, none.cast()) }).map(drop)
}

#[cfg(target_os = "linux")]
fn ended(child: libc::pid_t) -> Result<(), Errno> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    Errno::result(unsafe { libc::waitpid(child, &raw mut status, 0) })?;
    match libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)) {
        Some(0) => Ok(()),
        Some(code) => Err(Errno::from_raw(code)),
        None => Err(Errno::ECHILD),
    }
}

/// Installs a filter that another process could answer for.
#[cfg(target_os = "linux")]
pub(crate) fn try_listener() -> io::Result<()> {
    let code = (libc::BPF_RET | libc::BPF_K) as u16;
    let mut allow = libc::sock_filter { code, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    in_child(|| {
        // SAFETY: takes numbers and changes only this process.
        Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
        let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        // SAFETY: the program has one instruction and outlives the call.
        let made = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
        Errno::result(made).map(drop)
    })
}

/// Fails: there are no namespaces here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn try_namespace(_: &str) -> io::Result<()> {
    Err(Errno::ENOSYS.into())
}

/// Fails: there is no `/proc` here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn try_proc() -> io::Result<()> {
    Err(Errno::ENOSYS.into())
}

/// Fails: there is no listener for system calls here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn try_listener() -> io::Result<()> {
    Err(Errno::ENOSYS.into())
}
