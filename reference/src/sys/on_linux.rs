//! Linux: pidfds, epoll, processes that share our memory, namespaces, Landlock.

mod beside;
mod enter;
mod linux;
pub(crate) mod mounts;
pub(crate) mod notify;
mod packets;
#[cfg(test)]
pub(crate) mod raw;
mod shown;
mod status;
mod waits;

use super::reap::{has_child, reaped};
use super::{Leash, adopt, close_bare, default_action, signals};

pub(crate) use beside::*;
pub(crate) use enter::*;
pub(crate) use linux::*;
pub(crate) use packets::*;
pub(crate) use shown::*;
pub(crate) use status::heeds_stop;
pub(crate) use waits::*;
