//! macOS: the few calls that differ. No subreaper and no mount namespaces exist there.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// There is no such descriptor that poll(2) takes; callers fall back to a short poll.
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

/// There is no such wish; the control socket's end of file does the same.
///
/// # Errors
/// Never.
pub(crate) fn die_with_parent(_signal: Signal) -> io::Result<()> {
    Ok(())
}

/// The children of `parent`, as ps tells them.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let Ok(output) = std::process::Command::new("ps").args(["-axo", "pid=,ppid="]).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse::<i32>().ok()?, words.next()?.parse::<i32>().ok()?))
    });
    pairs.filter(|(_, of)| *of == parent.as_raw()).map(|(pid, _)| Pid::from_raw(pid)).collect()
}

/// # Errors
/// Always.
pub(crate) fn private_mounts() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// # Errors
/// Always.
pub(crate) fn own_tmpfs(_folder: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
