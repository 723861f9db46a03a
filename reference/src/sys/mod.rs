//! The seam to the operating system: every unsafe call of this crate, behind safe functions.

mod enter;
mod linux;
pub(crate) mod mounts;
pub(crate) mod notify;
#[cfg(test)]
pub(crate) mod raw;

pub(crate) use enter::*;
pub(crate) use linux::*;
