//! The facilities that macOS lacks. Those that a lock-down needs fail here; the others are done in
//! another way, and the limits of the mechanism name those that are not done.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use nix::unistd::Pid;

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing: no process ends with its parent here. The stage ends the command when its
/// supervisor is gone.
pub(crate) fn die_with_parent() -> nix::Result<()> {
    Ok(())
}

/// A descendant can be left where there is no child.
pub(crate) const ADOPTS_ORPHANS: bool = false;

/// Does nothing: orphans go to launchd, and are found in the table of processes.
pub(crate) fn adopt_orphans() -> nix::Result<()> {
    Ok(())
}

/// There is no `/proc` that would show it.
pub(crate) fn hide_memory() -> nix::Result<()> {
    Ok(())
}

/// Returns false: the disposition of a stop in another process cannot be read.
pub(crate) fn heeds_stop(_process: Pid) -> bool {
    false
}

/// Pipes have their size.
pub(crate) fn enlarge(_pipe: &File, _bytes: i32) {}

/// The kernel moves nothing between descriptors.
pub(crate) fn discard(_pipe: &File, _abyss: &File, _most: usize) -> Option<nix::Result<usize>> {
    None
}

/// There are no capabilities.
pub(crate) fn without_capabilities<T>(body: impl FnOnce() -> T) -> io::Result<T> {
    Ok(body())
}

/// There is no Landlock.
pub(crate) fn landlock_abi() -> i64 {
    0
}

pub(crate) fn gain_nothing() -> nix::Result<()> {
    Err(nix::errno::Errno::ENOTSUP)
}

/// No call of a command comes to us.
pub(crate) fn tells_sockets() -> bool {
    false
}

/// Refused: nothing is mediated here.
pub(crate) fn drop_privileges(_looks: bool) -> io::Result<()> {
    unsupported()
}

pub(crate) fn drop_capabilities() -> io::Result<()> {
    unsupported()
}

pub(crate) fn abstract_socket_scope() -> io::Result<OwnedFd> {
    unsupported()
}

pub(crate) fn restrict_self(_ruleset: &OwnedFd) -> io::Result<()> {
    unsupported()
}

/// Fails: no process is started by descriptor here.
pub(crate) fn own_executable() -> io::Result<OwnedFd> {
    unsupported()
}
