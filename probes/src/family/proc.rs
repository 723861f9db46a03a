//! Family `proc`: other processes, inherited descriptors, mounts and privilege.

mod fds;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod pidfd;
mod privilege;
#[cfg(target_os = "linux")]
mod run;
mod signal;
#[cfg(target_os = "linux")]
mod visibility;

pub(crate) use fds::{read_fd, write_fd};
pub(crate) use privilege::setuid0;
pub(crate) use signal::kill;
#[cfg(target_os = "linux")]
pub(crate) use {
    fds::fds,
    mounts::{bind_mount, mount_tmpfs, remount_rw, umount, unshare_user},
    namespaces::{chroot, hostname_same, pivot_root, unshare},
    pidfd::{pidfd_getfd, pidfd_open, pidfd_signal, process_vm_read},
    privilege::{caps, nnp, seccomp_mode},
    run::memfd_exec,
    signal::ptrace_attach,
    visibility::{list_pids, proc_root_read, read_environ},
};
