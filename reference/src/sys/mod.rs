//! The seam to the operating system: every unsafe call of this crate, behind safe functions.

mod linux;
#[cfg(test)]
pub(crate) mod raw;

pub(crate) use linux::*;
