//! The only unsafe code of the crate: thin wrappers, one system call each.

mod file;
#[cfg(target_os = "linux")]
mod kernel;
mod process;
mod signal;

pub(crate) use file::{borrow, getxattr, own, rename, rmdir, setxattr, shm_open, tiocsti};
#[cfg(target_os = "linux")]
pub(crate) use kernel::{
    attach_shm, io_uring_setup, join_session_keyring, personality, renameat2, session_keyring,
};
pub(crate) use process::{Forked, Status, exit_now, fork, wait};
pub(crate) use signal::{
    default_action, give_up_on_alarm, ignore, notify, signal_name, signal_number, unblock,
};
