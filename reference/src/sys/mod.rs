//! The seam to the operating system: every unsafe call of this crate, behind safe functions.

mod linux;

pub(crate) use linux::*;
