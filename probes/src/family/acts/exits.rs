//! Ends of a process: `exit` and `die`.

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, raise};

use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, done};
use crate::output::RecordOutput;
use crate::sys;
use crate::usage_error::UsageError;

pub(crate) fn exit(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    out.report(done())?;
    Ok(i32::try_from(args.number_or("code", 0)?).unwrap_or(i32::MAX))
}

/// A process that survives its own signal was pid 1 of a namespace, where signals to oneself have
/// no effect: nothing was observed.
pub(crate) fn die(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    let signal = args.signal()?.ok_or_else(|| UsageError::missing("signal"))?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0).at("setrlimit")?;
    if signal != Signal::SIGKILL {
        sys::default_action(signal).at("sigaction")?;
    }
    out.report(done())?;
    raise(signal).at("raise")?;
    Err(ProbeError::Fault(format!("{signal} did not end the process")))
}
