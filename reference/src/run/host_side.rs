//! The same change outside the sandbox: what the host refuses this user as well, the sandbox did not
//! refuse.

use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, access, geteuid};

use crate::control::ObservedChange;

/// Returns whether this user may make `change` at `path` on the host. What `/proc` shows of processes is
/// another thing there.
pub(super) fn may_change(path: &Path, change: ObservedChange) -> bool {
    let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    let is_same = !path.starts_with("/proc") || path.starts_with("/proc/sys");
    is_plain && is_same && is_open(path, change)
}

fn is_open(path: &Path, change: ObservedChange) -> bool {
    let writable = |path: &Path| access(path, AccessFlags::W_OK).is_ok();
    match change {
        ObservedChange::MadeContent if path.symlink_metadata().is_err() => {
            is_open(path, ObservedChange::Entry)
        }
        ObservedChange::Content | ObservedChange::MadeContent => writable(path),
        ObservedChange::Entry => path.parent().is_some_and(writable),
        ObservedChange::Metadata => {
            let sealed =
                |found: nix::sys::statvfs::Statvfs| found.flags().contains(FsFlags::ST_RDONLY);
            let own =
                |found: std::fs::Metadata| geteuid().is_root() || found.uid() == geteuid().as_raw();
            !statvfs(path).is_ok_and(sealed) && path.symlink_metadata().is_ok_and(own)
        }
    }
}

/// Returns whether the host has a route to `address`. No packet is sent.
pub(super) fn has_route(address: &str) -> bool {
    let Ok(address) = address.parse::<SocketAddr>() else { return false };
    let own = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    UdpSocket::bind(own).is_ok_and(|socket| socket.connect(address).is_ok())
}
