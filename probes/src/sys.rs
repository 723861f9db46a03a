//! The only unsafe code of the crate: thin wrappers, one system call each.

mod file;
#[cfg(target_os = "linux")]
mod kernel;
mod map;
#[cfg(target_os = "linux")]
mod mounts;
mod process;
#[cfg(target_os = "linux")]
mod raw;
mod signal;
#[cfg(target_os = "linux")]
mod surface;
mod terminal;

pub(crate) use file::{borrow, getxattr, own, rename, rmdir, setxattr, shm_open};
pub(crate) use map::{map_read, map_write};
pub(crate) use process::{ChildStatus, ForkSide, exit_now, fork, wait};
pub(crate) use signal::{
    default_action, give_up_on_alarm, ignore, notify, signal_name, signal_number, unblock,
};
pub(crate) use terminal::{tiocsti, window_size};
#[cfg(target_os = "linux")]
pub(crate) use {
    file::c_string,
    kernel::{
        attach_shm, io_uring_setup, join_session_keyring, personality, renameat2, session_keyring,
    },
    mounts::{FailedCall, clear_read_only, clone_tree, fsmount_tmpfs},
    raw::{
        copy_file_range, name_to_handle, open_by_handle, pidfd_getfd, pidfd_open,
        pidfd_send_signal, sendfile, socket, splice,
    },
    surface::{
        add_key, bpf_map, init_module_empty, perf_event, reboot_invalid, request_key, userfaultfd,
    },
    terminal::tioclinux_shift,
};
