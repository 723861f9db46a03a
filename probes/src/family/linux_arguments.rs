//! Words of arguments whose probes exist on Linux only; the catalogue has them everywhere.

/// `--resolve` of `open-resolve`.
pub(crate) const RESOLVE: &[&str] =
    &["beneath", "in-root", "no-magiclinks", "no-symlinks", "no-xdev"];
/// `--kind` of `mknod-device`.
pub(crate) const DEVICE: &[&str] = &["char", "block"];
/// `--kind` of `socket`.
pub(crate) const SOCKET: &[&str] =
    &["tcp", "udp", "unix", "icmp", "ping", "packet", "netlink", "mptcp", "vsock", "alg"];
/// `--flags` of `unshare`.
pub(crate) const NAMESPACE: &[&str] = &["user", "mount", "pid", "net", "ipc", "uts", "cgroup"];
/// `--via` of `mount-tmpfs`, the classic call first.
pub(crate) const TMPFS: &[&str] = &["mount", "fsmount"];
/// `--via` of `remount-rw`, the classic call first.
pub(crate) const REMOUNT: &[&str] = &["mount", "mount-setattr"];
/// `--via` of `bind-mount`, the classic call first.
pub(crate) const BIND: &[&str] = &["mount", "open-tree"];
