//! Where the parts of a nested host lie on this one.

use std::path::PathBuf;

/// Where the parts of a nested host lie.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "mount namespaces are Linux's"))]
pub(crate) struct NestedPlaces {
    /// What is mounted in it, in this order.
    pub(crate) mounts: Vec<MountPlace>,
    /// Where its root is mounted, if that is one of its own, and the working directory in it.
    pub(crate) root: Option<(PathBuf, PathBuf)>,
}

/// One mount of a nested host.
#[derive(Debug, Clone, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "mount namespaces are Linux's"))]
pub(crate) struct MountPlace {
    /// What is mounted.
    pub(crate) from: PathBuf,
    /// Where.
    pub(crate) over: PathBuf,
    /// Whether it cannot be written there.
    pub(crate) read_only: bool,
    /// Whether the name of what is mounted is removed.
    pub(crate) deleted: bool,
    /// Whether it may be gone by the time it is mounted.
    pub(crate) fleeting: bool,
}
