//! Undoing a view: user namespaces, mounts, unmounts, remounts.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done};
use crate::sys::{self, FailedCall};

const NONE: Option<&str> = None;

pub(crate) fn unshare_user(_: &ProbeArguments) -> ProbeResult {
    unshare(CloneFlags::CLONE_NEWUSER).at("unshare")?;
    done()
}

pub(crate) fn mount_tmpfs(args: &ProbeArguments) -> ProbeResult {
    if args.maybe("via").is_some_and(|via| via == "fsmount") {
        return known(sys::fsmount_tmpfs(args.path()?));
    }
    let (tmpfs, size) = (Some("tmpfs"), Some("size=64k"));
    mount(tmpfs, args.path()?, tmpfs, MsFlags::empty(), size).at("mount")?;
    done()
}

pub(crate) fn umount(args: &ProbeArguments) -> ProbeResult {
    let flags = if args.has("detach") { MntFlags::MNT_DETACH } else { MntFlags::empty() };
    umount2(args.path()?, flags).at("umount2")?;
    done()
}

/// Clears the read-only flag of the mount, which is the one a sandbox sets.
pub(crate) fn remount_rw(args: &ProbeArguments) -> ProbeResult {
    if args.maybe("via").is_some_and(|via| via == "mount-setattr") {
        sys::clear_read_only(args.path()?).at("mount_setattr")?;
        return done();
    }
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    mount(NONE, args.path()?, NONE, flags, NONE).at("mount")?;
    done()
}

/// Mounts `--path` at `--to` as well, without the mounts below it.
pub(crate) fn bind_mount(args: &ProbeArguments) -> ProbeResult {
    let (from, to) = (args.path()?, args.one("to")?);
    if args.maybe("via").is_some_and(|via| via == "open-tree") {
        return known(sys::clone_tree(from, to));
    }
    mount(Some(from), to, NONE, MsFlags::MS_BIND, NONE).at("mount")?;
    done()
}

fn known(tried: Result<(), FailedCall>) -> ProbeResult {
    tried.map_err(|(call, errno)| ProbeError::Refused { call, errno })?;
    done()
}
