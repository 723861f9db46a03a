//! The risky calls happen in a child: [`observe`] turns even its death into a record.

use std::os::fd::OwnedFd;

use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::args::ProbeArguments;
use crate::deadline;
use crate::exit_code as exit;
use crate::outcome::{ProbeError, ProbeResult, record};
use crate::output::{read_up_to, write_all};
use crate::record::{ActOutcome, ProbeRecord, RecordDetail};
use crate::sys::{self, ChildStatus, ForkSide};
use crate::usage_error::UsageError;

/// Descriptors from here on are ours, so that inherited ones keep their numbers.
pub(crate) const OWN_DESCRIPTORS: i32 = 200;
/// More than the largest record.
const REPORT_CAP: usize = 4 << 20;

/// The report of the child; silence is neither a success nor a refusal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ChildReport {
    Record(ProbeRecord),
    Usage(String),
    Fault(String),
    TimedOut,
}

/// Runs `look` in a child of its own, for `seconds` at most.
pub(crate) fn observe(
    probe: &str,
    look: fn(&ProbeArguments) -> ProbeResult,
    args: &ProbeArguments,
    seconds: u32,
) -> Result<ProbeRecord, ProbeError> {
    let (read, write) = report_pipe()?;
    match sys::fork().map_err(|errno| fault("no child for the probe", errno))? {
        ForkSide::Child => {
            drop(read);
            let seen = prepare(seconds).and_then(|()| look(args));
            sys::exit_now(send(&write, probe, seen));
        }
        ForkSide::Parent(child) => {
            drop(write);
            conclude(probe, &read, child)
        }
    }
}

/// A pipe out of the way of inherited descriptors.
pub(crate) fn report_pipe() -> Result<(OwnedFd, OwnedFd), ProbeError> {
    let (read, write) = nix::unistd::pipe().map_err(|errno| fault("no pipe", errno))?;
    Ok((move_up(&read)?, move_up(&write)?))
}

fn move_up(fd: &OwnedFd) -> Result<OwnedFd, ProbeError> {
    let moved = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(OWN_DESCRIPTORS));
    Ok(sys::own(moved.map_err(|errno| fault("no descriptor for the report", errno))?))
}

/// Alarms are not inherited over a fork. A broken pipe shows as EPIPE, not as a
/// death, because the language's runtime ignores SIGPIPE from the start.
fn prepare(seconds: u32) -> Result<(), ProbeError> {
    deadline::arm(seconds).map_err(|errno| fault("the time limit can't be set", errno))
}

/// Sends the report; the child's exit code says whether that worked.
pub(crate) fn send(write: &OwnedFd, probe: &str, seen: ProbeResult) -> i32 {
    let report = match record(probe, seen) {
        Ok(record) => ChildReport::Record(record),
        Err(ProbeError::Usage(error)) => ChildReport::Usage(error.to_string()),
        Err(ProbeError::TimedOut) => ChildReport::TimedOut,
        Err(other) => ChildReport::Fault(format!("{other:?}")),
    };
    let bytes = serde_json::to_vec(&report).unwrap_or_default();
    if write_all(write, &bytes).is_ok() { 0 } else { exit::FAULT }
}

/// Combines the child's report and its exit status into a record.
fn conclude(probe: &str, read: &OwnedFd, child: Pid) -> Result<ProbeRecord, ProbeError> {
    let report = receive(read);
    match sys::wait(child).map_err(|errno| fault("the child's end was not seen", errno))? {
        ChildStatus::Signaled(signal) => Ok(ProbeRecord {
            probe: probe.to_owned(),
            outcome: ActOutcome::Killed { signal: sys::signal_name(signal) },
            detail: RecordDetail::new(),
        }),
        ChildStatus::Exited(exit::TIMED_OUT) => Err(ProbeError::TimedOut),
        ChildStatus::Exited(0) => report,
        ChildStatus::Exited(code) => {
            Err(ProbeError::Fault(format!("the probe's child exited {code}")))
        }
    }
}

/// The report of a child that has closed its end.
pub(crate) fn receive(read: &OwnedFd) -> Result<ProbeRecord, ProbeError> {
    let bytes = read_up_to(read, REPORT_CAP).map_err(|errno| fault("no report", errno))?;
    match serde_json::from_slice(&bytes) {
        Ok(ChildReport::Record(record)) => Ok(record),
        Ok(ChildReport::Usage(what)) => Err(ProbeError::Usage(UsageError::Act(what))),
        Ok(ChildReport::Fault(what)) => Err(ProbeError::Fault(what)),
        Ok(ChildReport::TimedOut) => Err(ProbeError::TimedOut),
        Err(_) => Err(ProbeError::Fault("the probe's child ended without a report".to_owned())),
    }
}

/// A failure from which nothing can be learnt about the act.
pub(crate) fn fault(what: &str, errno: nix::errno::Errno) -> ProbeError {
    ProbeError::Fault(format!("{what}: {errno}"))
}

/// The exit code that goes with a record.
pub(crate) fn code(record: &ProbeRecord) -> i32 {
    match &record.outcome {
        ActOutcome::Succeeded => exit::SUCCEEDED,
        ActOutcome::Refused { .. } => exit::REFUSED,
        ActOutcome::Killed { signal } => exit::SIGNAL_BASE + sys::signal_number(signal),
    }
}
