//! Programs in the running executable besides the harness: the probe, a victim, a listener, a
//! private namespace, a launcher, the driver of an agent, the measured operations of a bench, and
//! its pages. Every program that calls [`crate::session::conduct`] starts with [`dispatch`], because
//! the probe of a run is a copy of that program.

use std::ffi::OsString;
use std::path::Path;

use crate::{agent, backend, bench, run, workspace};

/// The name under which a copy of the program is the probe.
const PROBE: &str = "boxprobe";

/// Does what `args` (the program's name first) ask for and returns the exit code; `None` when
/// they are meant for the program itself.
pub fn dispatch(args: &[OsString]) -> Option<i32> {
    #[cfg(target_env = "musl")]
    crate::sys::allocator::prepare();
    let verb = args.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    let rest = |skip: usize| args.iter().skip(skip).cloned().collect::<Vec<_>>().into_iter();
    match (name(args), verb) {
        (_, workspace::VICTIM_VERB) => Some(workspace::serve_victim()),
        (_, workspace::LISTEN_VERB) => Some(workspace::serve_listeners(rest(2))),
        (_, workspace::NETWORK_VERB) => Some(workspace::serve_network(rest(2))),
        (_, run::PRIVATE_NS_VERB) => Some(run::serve_private_ns(rest(2))),
        (_, run::LAUNCHER_VERB) => Some(run::serve_launcher(rest(2))),
        (_, backend::AGENT_VERB) => Some(agent::serve(rest(2))),
        (_, bench::OPERATIONS_VERB) => Some(bench::serve_operations(rest(2))),
        (_, bench::DRAW_VERB) => Some(bench::draw()),
        (PROBE, _) => Some(boxproof_probes::main(rest(1))),
        _ => None,
    }
}

/// The last part of the name that the program was started by.
pub fn name(args: &[OsString]) -> &str {
    let name = args.first().and_then(|name| Path::new(name).file_name());
    name.and_then(|name| name.to_str()).unwrap_or_default()
}
