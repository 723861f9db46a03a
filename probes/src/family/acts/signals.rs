//! `signals`: prints the name of each signal that comes, in the order of arrival.

use std::io::stdout;

use nix::sys::signal::Signal;

use crate::args::ProbeArguments;
use crate::deadline;
use crate::outcome::{CallContext, ProbeError, done};
use crate::output::{RecordOutput, write_all};
use crate::sys;

use super::waits::{announce, deadline, next_note};

/// Signals pending at once are delivered lowest number first, independent of the order in which
/// they were sent.
pub(crate) fn signals(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    let last = args.signal_named("last")?;
    deadline::disarm().at("sigaction")?;
    let (read, write) = nix::unistd::pipe().at("pipe")?;
    for signal in args.signals()?.into_iter().chain([last]) {
        sys::notify(signal, &write).at("sigaction")?;
    }
    announce(args, out)?;
    let end = deadline(out.limit);
    while print_next(i32::from(next_note(&read, end)?))? != last as i32 {}
    out.report(done())?;
    Ok(i32::try_from(args.number_or("exit", 0)?).unwrap_or(i32::MAX))
}

fn print_next(number: i32) -> Result<i32, ProbeError> {
    let name = Signal::try_from(number).at("sigaction")?;
    write_all(stdout(), format!("{name}\n").as_bytes()).at("write")?;
    Ok(number)
}
