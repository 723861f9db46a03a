//! The probes themselves, one family a module; each is a function the catalogue names.

pub(crate) mod acts;
pub(crate) mod env;
pub(crate) mod fs;
pub(crate) mod ipc;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
pub(crate) mod limits;
pub(crate) mod linux_arguments;
pub(crate) mod net;
pub(crate) mod proc;
pub(crate) mod terminal;
