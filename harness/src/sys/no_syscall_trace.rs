//! Counting of system calls where the system has no way for it.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, ExitStatus};

/// Fails: only Linux tells a tracer each system call.
///
/// # Errors
/// Always.
pub(crate) fn count_calls(_: &mut Command) -> io::Result<(ExitStatus, BTreeMap<String, u64>)> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "system calls are counted on Linux only"))
}
