//! No confinement: the inner stage as a process beside this one, for mode unconfined and for
//! embedders.

use std::io;

use crate::control::RunningSandbox;
use crate::init::{self, SandboxInit};
use crate::sys::{self, ReleasePipe};

/// Starts the inner stage, which serves the command from a session of its own.
pub(crate) fn start(inner: &SandboxInit<'_>) -> io::Result<RunningSandbox> {
    let serve = |leash: ReleasePipe| {
        let served = init::serve_beside(inner, leash);
        // Only matters where the supervisor heard nothing.
        i32::from(served.is_err())
    };
    let (process, stack) = sys::start_beside(serve)?;
    Ok(RunningSandbox { process, said: None, namespaced: false, stack: Some(stack) })
}
