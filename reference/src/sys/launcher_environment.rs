//! The environment of this process.

use std::ffi::OsString;

/// Returns the variables of this process.
pub(crate) fn launcher_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}
