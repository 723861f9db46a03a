//! macOS: the few calls that differ. No subreaper and no mount namespaces exist there.
//! Type-checked only: nothing of this has run on macOS yet.

#[path = "macos_table.rs"]
pub(crate) mod table;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::{Gid, Pid, Uid, User};

use super::{FileStatus, NestedPlaces};

/// Returns none: poll(2) takes no such descriptor here; callers fall back to a short poll.
pub(crate) fn exit_watch(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Orphans go to launchd; the nonce scan finds them instead.
///
/// # Errors
/// Never.
pub(crate) fn subreaper() -> io::Result<()> {
    Ok(())
}

/// The children of `parent`, as ps tells them; ps itself, which is one of ours, apart.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let ps = Command::new("ps").args(["-axo", "pid=,ppid="]).stdout(Stdio::piped()).spawn();
    let Ok((ps, Ok(output))) = ps.map(|ps| (ps.id().cast_signed(), ps.wait_with_output())) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse::<i32>().ok()?, words.next()?.parse::<i32>().ok()?))
    });
    pairs
        .filter(|(pid, of)| *of == parent.as_raw() && *pid != ps)
        .map(|(pid, _)| Pid::from_raw(pid))
        .collect()
}

/// Makes `command` fail to start: there are no namespaces; the cases that nest are Linux's.
pub(crate) fn nest(
    command: &mut Command,
    _nested: &boxproof_cases::case::Nested,
    _places: &NestedPlaces,
) -> io::Result<()> {
    // SAFETY: the closure does nothing but fail.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, || {
            Err(io::ErrorKind::Unsupported.into())
        });
    }
    Ok(())
}

/// Does nothing: ptrace(2) of others needs root or a debugger's entitlement.
///
/// # Errors
/// Never.
pub(crate) fn deny_tracing() -> io::Result<()> {
    Ok(())
}

/// Does nothing: no call here ends a child after its parent.
///
/// # Errors
/// Never.
pub(crate) fn end_after(_parent: Pid, _patience: std::time::Duration) -> io::Result<()> {
    Ok(())
}

/// Does nothing: no call here ends a child with its parent.
pub(crate) fn end_with_parent(_command: &mut Command, _signal: Signal) {}

/// Fails: there are no mount namespaces here.
///
/// # Errors
/// Always.
pub(crate) fn private_mounts() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails: there is no tmpfs here.
///
/// # Errors
/// Always.
pub(crate) fn own_tmpfs(_directory: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails: the harness mounts nothing here.
///
/// # Errors
/// Always.
pub(crate) fn detach(_point: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns 0: processes of a user are not counted here.
pub(crate) fn tasks_of_user(_: u32) -> u64 {
    0
}

/// Fails: it is not implemented here.
pub(crate) fn become_user(_user: &User) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns what is at `path`, without following a link at its end; the device tells the mount here.
///
/// # Errors
/// The errno of lstat(2).
pub(crate) fn file_status(path: &Path) -> io::Result<FileStatus> {
    use std::os::unix::fs::MetadataExt;
    let meta = path.symlink_metadata()?;
    Ok(FileStatus {
        device: meta.dev(),
        inode: meta.ino(),
        mount: 0,
        mode: meta.mode(),
        owner: (meta.uid(), meta.gid()),
    })
}

/// Fails: it is not implemented here.
///
/// # Errors
/// Always.
pub(crate) fn become_owner(_uid: Uid, _gid: Gid) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
