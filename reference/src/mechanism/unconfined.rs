//! No confinement: the inner stage as a process beside this one, for mode unconfined and for
//! embedders.

use std::io;

use super::Running;
use crate::inner::{self, Inner};
use crate::sys::{self, Leash};

/// Starts the inner stage, which serves the command from a session of its own.
pub(crate) fn start(inner: &Inner<'_>) -> io::Result<Running> {
    let serve = |leash: Leash| {
        let served = inner::serve_beside(inner, leash);
        // Only matters where the supervisor heard nothing.
        i32::from(served.is_err())
    };
    let (process, stack) = sys::start_beside(serve)?;
    Ok(Running { process, said: None, namespaced: false, stack: Some(stack) })
}
