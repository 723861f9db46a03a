//! Family `proc`: other processes, inherited descriptors, mounts and privilege.

mod fds;
#[cfg(target_os = "linux")]
mod mounts;
mod privilege;
#[cfg(target_os = "linux")]
mod see;
mod signal;

pub(crate) use fds::{read_fd, write_fd};
pub(crate) use privilege::setuid0;
pub(crate) use signal::kill;
#[cfg(target_os = "linux")]
pub(crate) use {
    fds::fds,
    mounts::{mount_tmpfs, remount_rw, umount, unshare_user},
    privilege::{caps, nnp, seccomp_mode},
    see::{list_pids, proc_root_read, read_environ},
    signal::ptrace_attach,
};
