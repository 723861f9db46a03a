//! The entry of the forked process into the box, before it is the inner stage.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Gid, Uid, setsid};

use super::build::{BuildFailure, build, whole};
use super::failure_point::BuildCall;
use super::layout::ViewLayout;
use crate::control::{self, FailedStep, InitReport};
use crate::init::{self, SandboxInit};
use crate::sys;

/// Everything the forked process needs, made before the fork.
pub(super) struct NamespaceEntry<'a> {
    pub(super) layout: ViewLayout,
    /// The ids that the user namespace maps; `None` without one.
    pub(super) ids: Option<(Uid, Gid)>,
    /// The network is private.
    pub(super) private_network: bool,
    pub(super) inner: SandboxInit<'a>,
}

/// Enters, then serves as pid 1; the exit code only matters where the supervisor heard nothing.
pub(super) fn run(entry: NamespaceEntry<'_>) -> i32 {
    match enter(&entry) {
        Ok(()) => serve(entry.inner),
        Err(failure) => report(&entry.inner.control, failure),
    }
}

fn serve(inner: SandboxInit<'_>) -> i32 {
    let Ok(control) = inner.control.try_clone() else { return 1 };
    match init::serve(inner) {
        Ok(()) => 0,
        Err(error) => report(&control, whole(BuildCall::Serve)(errno_of(&error))),
    }
}

/// Says why there is no box; the exit code for it.
fn report(control: &OwnedFd, (place, errno): BuildFailure) -> i32 {
    let report = InitReport::Failed(FailedStep::Build(place.code()), errno as i32);
    // If even this report fails, the supervisor sees our end of the socket close.
    let _unheard = control::post(control, report.encode());
    1
}

fn enter(entry: &NamespaceEntry<'_>) -> Result<(), BuildFailure> {
    let mut kept = entry.inner.descriptors();
    sys::close_all_but(&mut kept).map_err(whole(BuildCall::Descriptors))?;
    if !fault!("mechanism.launcher-tie") {
        tie(&entry.inner.control).map_err(whole(BuildCall::Death))?;
    }
    setsid().map_err(whole(BuildCall::Session))?;
    if let Some((uid, gid)) = entry.ids {
        map(uid, gid).map_err(whole(BuildCall::Maps))?;
    }
    if entry.private_network {
        if !fault!("network.loopback-down") {
            sys::raise_loopback().map_err(whole(BuildCall::Loopback))?;
        }
        // While ports below 1024 can still be had.
        let opened = entry.inner.open_door();
        opened.map_err(|error| whole(BuildCall::Door)(errno_of(&error)))?;
    }
    build(&entry.layout)?;
    if !fault!("mechanism.init-environment") {
        sys::wipe_environment();
    }
    sys::drop_privileges(entry.inner.mediates())
        .map_err(|error| whole(BuildCall::Privileges)(errno_of(&error)))
}

/// Dies with the launcher, also if that is dead already: then its end of the socket is closed.
fn tie(control: &OwnedFd) -> nix::Result<()> {
    sys::die_with_parent()?;
    let mut polled = [PollFd::new(control.as_fd(), PollFlags::empty())];
    match poll(&mut polled, PollTimeout::ZERO)? {
        0 => Ok(()),
        _ => Err(Errno::EOWNERDEAD),
    }
}

/// One id each, as the kernel allows an ordinary user; group lists must be fixed first.
fn map(uid: Uid, gid: Gid) -> nix::Result<()> {
    let write = |name: &str, text: String| fs::write(name, text).map_err(|error| errno_of(&error));
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)
}
