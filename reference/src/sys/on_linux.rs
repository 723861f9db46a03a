//! Linux: pidfds, epoll, processes that share our memory, namespaces, Landlock.

mod enter;
mod helper_end;
mod linux;
pub(crate) mod mounts;
pub(crate) mod notify;
mod packets;
mod poller;
#[cfg(test)]
pub(crate) mod raw;
mod shared_vm;
pub(crate) mod socket_table;
pub(crate) mod sockets;
mod status;
mod visible_pid;

use super::reap::{has_child, reaped};
use super::{ReleasePipe, adopt, close_bare, default_action, signals};

pub(crate) use enter::*;
pub(crate) use helper_end::*;
pub(crate) use linux::*;
pub(crate) use packets::*;
pub(crate) use poller::*;
pub(crate) use shared_vm::*;
pub(crate) use status::heeds_stop;
pub(crate) use visible_pid::*;
