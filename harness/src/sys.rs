//! The only `unsafe` of the harness, apart from the host detection beside it: forking, waking on
//! a child's exit, handing descriptors to a child.

pub(crate) mod ability;
#[cfg(target_env = "musl")]
pub(crate) mod allocator;
pub(crate) mod host;
mod kernel_text;
pub(crate) mod measured_child;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod nested;
mod nested_places;
#[cfg_attr(not(target_os = "linux"), path = "sys/no_network.rs")]
pub(crate) mod network;
#[cfg(any(test, target_os = "macos"))]
mod procargs;
mod process;
mod process_state;
#[cfg(target_os = "linux")]
pub(crate) mod syscall_names;
#[cfg_attr(not(target_os = "linux"), path = "sys/no_syscall_trace.rs")]
pub(crate) mod syscall_trace;
#[cfg_attr(target_os = "linux", path = "sys/linux.rs")]
#[cfg_attr(target_os = "macos", path = "sys/macos.rs")]
mod system;
#[cfg_attr(not(target_os = "linux"), path = "sys/no_title.rs")]
mod title;

pub(crate) use kernel_text::kernel_text;
#[cfg(target_os = "linux")]
pub(crate) use nested::nest;
pub(crate) use nested_places::{MountPlace, NestedPlaces};
pub(crate) use process::{
    default_signals, fork, hand_nothing_on, inherit_descriptors, own_terminal, random,
    random_bytes, reap, release_standard_streams, resize, stands_still, survive_file_limit,
    waiting_bytes,
};
pub(crate) use process_state::{firm_limit, start_with, try_nice};
#[cfg(target_os = "linux")]
pub(crate) use system::die_with_parent;
#[cfg(target_os = "macos")]
pub(crate) use system::nest;
pub(crate) use system::{
    become_owner, become_user, children_of, deny_tracing, detach, end_after, end_with_parent,
    exit_watch, file_status, own_tmpfs, private_mounts, subreaper, table, tasks_of_user,
};
pub(crate) use title::ProcessTitle;

/// The identity, mode and owner of a file.
#[derive(Debug)]
pub(crate) struct FileStatus {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The number of the mount; 0 where it is not known.
    pub(crate) mount: u64,
    /// Type and permissions.
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: (u32, u32),
}
