//! Reaching into another process: `kill` and `ptrace-attach`.

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeResult, done};

pub(crate) fn kill(args: &ProbeArguments) -> ProbeResult {
    nix::sys::signal::kill(args.pid()?, args.signal()?).at("kill")?;
    done()
}

/// Detaches again: the process goes on as if nothing had happened.
#[cfg(target_os = "linux")]
pub(crate) fn ptrace_attach(args: &ProbeArguments) -> ProbeResult {
    let pid = args.pid()?;
    nix::sys::ptrace::attach(pid).at("ptrace")?;
    nix::sys::wait::waitpid(pid, Some(nix::sys::wait::WaitPidFlag::__WALL)).at("waitpid")?;
    nix::sys::ptrace::detach(pid, None).at("ptrace")?;
    done()
}
