//! The risky calls happen in a child: [`observe`] turns even its death into a record.

use std::os::fd::OwnedFd;

use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::args::Args;
use crate::limit;
use crate::out::{read_up_to, write_all};
use crate::program::exit;
use crate::record::{Detail, Outcome, Record};
use crate::seen::{Seen, Stop, record};
use crate::sys::{self, Forked, Status};
use crate::usage::UsageError;

/// Descriptors from here on are ours, so that inherited ones keep their numbers.
pub(crate) const OWN_DESCRIPTORS: i32 = 200;
/// More than the largest record.
const REPORT_CAP: usize = 4 << 20;

/// The report of the child; silence is neither a success nor a refusal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Record(Record),
    Usage(String),
    Fault(String),
    TimedOut,
}

/// Runs `look` in a child of its own, for `seconds` at most.
pub(crate) fn observe(
    probe: &str,
    look: fn(&Args) -> Seen,
    args: &Args,
    seconds: u32,
) -> Result<Record, Stop> {
    let (read, write) = report_pipe()?;
    match sys::fork().map_err(|errno| fault("no child for the probe", errno))? {
        Forked::Child => {
            drop(read);
            let seen = prepare(seconds).and_then(|()| look(args));
            sys::exit_now(send(&write, probe, seen));
        }
        Forked::Parent(child) => {
            drop(write);
            conclude(probe, &read, child)
        }
    }
}

/// A pipe out of the way of inherited descriptors.
pub(crate) fn report_pipe() -> Result<(OwnedFd, OwnedFd), Stop> {
    let (read, write) = nix::unistd::pipe().map_err(|errno| fault("no pipe", errno))?;
    Ok((move_up(&read)?, move_up(&write)?))
}

fn move_up(fd: &OwnedFd) -> Result<OwnedFd, Stop> {
    let moved = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(OWN_DESCRIPTORS));
    Ok(sys::own(moved.map_err(|errno| fault("no descriptor for the report", errno))?))
}

/// Alarms are not inherited over a fork. A broken pipe shows as EPIPE, not as a
/// death, because the language's runtime ignores SIGPIPE from the start.
fn prepare(seconds: u32) -> Result<(), Stop> {
    limit::arm(seconds).map_err(|errno| fault("the time limit can't be set", errno))
}

/// Sends the report; the child's exit code says whether that worked.
pub(crate) fn send(write: &OwnedFd, probe: &str, seen: Seen) -> i32 {
    let report = match record(probe, seen) {
        Ok(record) => Report::Record(record),
        Err(Stop::Usage(error)) => Report::Usage(error.to_string()),
        Err(Stop::TimedOut) => Report::TimedOut,
        Err(other) => Report::Fault(format!("{other:?}")),
    };
    let bytes = serde_json::to_vec(&report).unwrap_or_default();
    if write_all(write, &bytes).is_ok() { 0 } else { exit::FAULT }
}

/// Combines the child's report and its exit status into a record.
fn conclude(probe: &str, read: &OwnedFd, child: Pid) -> Result<Record, Stop> {
    let report = receive(read);
    match sys::wait(child).map_err(|errno| fault("the child's end was not seen", errno))? {
        Status::Signaled(signal) => Ok(Record {
            probe: probe.to_owned(),
            outcome: Outcome::Killed { signal: sys::signal_name(signal) },
            detail: Detail::new(),
        }),
        Status::Exited(exit::TIMED_OUT) => Err(Stop::TimedOut),
        Status::Exited(0) => report,
        Status::Exited(code) => Err(Stop::Fault(format!("the probe's child exited {code}"))),
    }
}

/// The report of a child that has closed its end.
pub(crate) fn receive(read: &OwnedFd) -> Result<Record, Stop> {
    let bytes = read_up_to(read, REPORT_CAP).map_err(|errno| fault("no report", errno))?;
    match serde_json::from_slice(&bytes) {
        Ok(Report::Record(record)) => Ok(record),
        Ok(Report::Usage(what)) => Err(Stop::Usage(UsageError::Act(what))),
        Ok(Report::Fault(what)) => Err(Stop::Fault(what)),
        Ok(Report::TimedOut) => Err(Stop::TimedOut),
        Err(_) => Err(Stop::Fault("the probe's child ended without a report".to_owned())),
    }
}

/// A failure from which nothing can be learnt about the act.
pub(crate) fn fault(what: &str, errno: nix::errno::Errno) -> Stop {
    Stop::Fault(format!("{what}: {errno}"))
}
