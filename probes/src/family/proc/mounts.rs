//! Undoing a view: user namespaces, mounts, unmounts, remounts.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::args::Args;
use crate::seen::{At, Seen, done};

const NONE: Option<&str> = None;

pub(crate) fn unshare_user(_: &Args) -> Seen {
    unshare(CloneFlags::CLONE_NEWUSER).at("unshare")?;
    done()
}

pub(crate) fn mount_tmpfs(args: &Args) -> Seen {
    let (tmpfs, size) = (Some("tmpfs"), Some("size=64k"));
    mount(tmpfs, args.path()?, tmpfs, MsFlags::empty(), size).at("mount")?;
    done()
}

pub(crate) fn umount(args: &Args) -> Seen {
    let flags = if args.has("detach") { MntFlags::MNT_DETACH } else { MntFlags::empty() };
    umount2(args.path()?, flags).at("umount2")?;
    done()
}

/// Clears the read-only flag of the mount, which is the one a sandbox sets.
pub(crate) fn remount_rw(args: &Args) -> Seen {
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    mount(NONE, args.path()?, NONE, flags, NONE).at("mount")?;
    done()
}
