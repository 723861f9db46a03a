//! Namespaces and roots of one's own: `unshare`, `pivot-root`, `chroot`, `hostname-same`.

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare as leave};
use nix::sys::stat::Mode;
use nix::unistd::{execve, getegid, geteuid, gethostname, sethostname};

use super::run::{c_string, environment, run};
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done};
use crate::output::write_all;

const NONE: Option<&str> = None;

/// Makes the namespaces, and with `--sh` runs a line in them.
pub(crate) fn unshare(args: &ProbeArguments) -> ProbeResult {
    enter(flags(args))?;
    let Some(line) = args.maybe("sh") else { return done() };
    let argv = [c"sh".to_owned(), c"-c".to_owned(), c_string(line)?];
    run("execve", || {
        execve(c"/bin/sh", &argv, &environment()).map_or_else(|errno| errno, |no| match no {})
    })
}

/// Works in user and mount namespaces of its own, on a file system made for it.
pub(crate) fn pivot_root(args: &ProbeArguments) -> ProbeResult {
    let (path, tmpfs) = (args.path()?, Some("tmpfs"));
    enter(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    mount(tmpfs, path, tmpfs, MsFlags::empty(), NONE).at("mount")?;
    nix::unistd::pivot_root(path, path).at("pivot_root")?;
    done()
}

pub(crate) fn chroot(args: &ProbeArguments) -> ProbeResult {
    nix::unistd::chroot(args.path()?).at("chroot")?;
    done()
}

/// Sets the name that the host has already.
pub(crate) fn hostname_same(_: &ProbeArguments) -> ProbeResult {
    sethostname(gethostname().at("gethostname")?).at("sethostname")?;
    done()
}

/// Enters new namespaces, as root of a new user namespace; no mount ever leads out of them.
fn enter(flags: CloneFlags) -> Result<(), ProbeError> {
    let (uid, gid) = (geteuid(), getegid());
    leave(flags).at("unshare")?;
    if flags.contains(CloneFlags::CLONE_NEWUSER) {
        put("/proc/self/setgroups", "deny")?;
        put("/proc/self/uid_map", &format!("0 {uid} 1"))?;
        put("/proc/self/gid_map", &format!("0 {gid} 1"))?;
    }
    if flags.contains(CloneFlags::CLONE_NEWNS) {
        mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).at("mount")?;
    }
    Ok(())
}

fn put(file: &str, text: &str) -> Result<(), ProbeError> {
    let file = openat(AT_FDCWD, file, OFlag::O_WRONLY, Mode::empty()).at("openat")?;
    write_all(&file, text.as_bytes()).at("write")
}

fn flags(args: &ProbeArguments) -> CloneFlags {
    let flag = |word: &std::ffi::OsStr| match word.to_str() {
        Some("user") => CloneFlags::CLONE_NEWUSER,
        Some("mount") => CloneFlags::CLONE_NEWNS,
        Some("pid") => CloneFlags::CLONE_NEWPID,
        Some("net") => CloneFlags::CLONE_NEWNET,
        Some("ipc") => CloneFlags::CLONE_NEWIPC,
        Some("uts") => CloneFlags::CLONE_NEWUTS,
        Some("cgroup") => CloneFlags::CLONE_NEWCGROUP,
        _ => CloneFlags::empty(),
    };
    args.list_values("flags").into_iter().map(flag).collect()
}
