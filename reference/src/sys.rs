//! The interface to the operating system: every unsafe call of this crate, behind safe functions.
//! Parts that differ between systems are here, under the same names.

#[cfg(target_os = "linux")]
#[path = "sys/on_linux.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "sys/macos/on_macos.rs"]
mod system;

pub(crate) mod case_insensitive;
mod clock;
mod descriptors;
mod fork_guard;
pub(crate) mod kernel_file;
mod launcher_environment;
#[cfg(any(test, not(target_os = "linux")))]
mod process_table;
mod reap;
mod release_pipe;
pub(crate) mod signals;

pub(crate) use clock::monotonic_ns;
pub(crate) use descriptors::*;
pub(crate) use launcher_environment::launcher_environment;
#[cfg(not(target_os = "linux"))]
pub(crate) use process_table::{DescendantTree, ProcessEntry, ProcessIdentity, ProcessTable};
pub(crate) use reap::*;
pub(crate) use release_pipe::*;
pub(crate) use signals::default_action;
pub(crate) use system::*;
