//! No confinement: the inner stage as a forked process, for mode unconfined and for embedders.

use std::io;

use super::Running;
use crate::inner::{self, Inner};
use crate::sys;

/// Forks the inner stage, which serves the command from a session of its own.
pub(crate) fn start(inner: Inner<'_>) -> io::Result<Running> {
    let mut kept = inner.descriptors();
    let child = sys::fork(move || serve(inner, &mut kept))?;
    // It has not been waited for, so the number is its own.
    Ok(Running { process: sys::pidfd_open(child)?, said: None, namespaced: false })
}

/// The exit code only matters where the supervisor heard nothing.
fn serve(inner: Inner<'_>, kept: &mut [i32]) -> i32 {
    let ready = sys::close_all_but(kept).and_then(|()| nix::unistd::setsid());
    let served = ready.map_err(io::Error::from).and_then(|_| inner::serve(inner));
    i32::from(served.is_err())
}
