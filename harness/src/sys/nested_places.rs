//! Places of the parts of a nested host on this one.

use std::path::PathBuf;

/// The places of the parts of a nested host.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "mount namespaces are Linux's"))]
pub(crate) struct NestedPlaces {
    /// The mounts in it, in this order.
    pub(crate) mounts: Vec<MountPlace>,
    /// The place of its root's mount, if that is one of its own, and the working directory in it.
    pub(crate) root: Option<(PathBuf, PathBuf)>,
}

/// One mount of a nested host.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "mount namespaces are Linux's"))]
pub(crate) struct MountPlace {
    /// The source of the mount.
    pub(crate) from: PathBuf,
    /// The target of the mount.
    pub(crate) over: PathBuf,
    /// True if it cannot be written there.
    pub(crate) read_only: bool,
    /// True if the name of the source is removed.
    pub(crate) deleted: bool,
    /// True if the source may be gone by the time it is mounted.
    pub(crate) fleeting: bool,
}
