//! No confinement: the inner stage as an ordinary process, for mode unconfined.

use std::process::Command;

use super::{Handles, Program, inner_words};

/// The helper: this very executable.
pub(crate) fn helper(prefix: &[&str], handles: Handles) -> Program {
    let mut command = Command::new("/proc/self/exe");
    command.args(inner_words(prefix, &handles));
    let kept = handles.numbers().to_vec();
    Program { command, kept, owners: (handles, Vec::new()), namespaced: false }
}
