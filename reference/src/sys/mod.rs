//! The interface to the operating system: every unsafe call of this crate, behind safe functions.
//! Parts that differ between systems are here, under the same names.

#[cfg(target_os = "linux")]
#[path = "on_linux.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "macos/mod.rs"]
mod system;

mod descriptors;
mod fork_guard;
mod reap;
mod release_pipe;
pub(crate) mod signals;

pub(crate) use descriptors::*;
pub(crate) use reap::*;
pub(crate) use release_pipe::*;
pub(crate) use signals::default_action;
pub(crate) use system::*;
