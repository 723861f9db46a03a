//! The seam to the operating system: every unsafe call of this crate, behind safe functions.

mod beside;
mod enter;
mod linux;
pub(crate) mod mounts;
pub(crate) mod notify;
#[cfg(test)]
pub(crate) mod raw;
mod reap;
pub(crate) mod signals;

pub(crate) use beside::*;
pub(crate) use enter::*;
pub(crate) use linux::*;
pub(crate) use reap::*;
pub(crate) use signals::default_action;
