//! The process that called this one, with which a run can end.

use std::sync::Arc;

use boxproof_cases::protocol::ErrorKind;
use nix::unistd::{Pid, getpid, getppid, getsid};

use crate::error::Refusal;
use crate::request::RunJob;
use crate::sys::{self, ProcessHandle};

/// The parent of this process, as it was at the start.
pub(super) struct CallerProcess {
    number: Pid,
    /// The parent, unless it cannot be watched or is not the process that called.
    process: Result<ProcessHandle, String>,
}

impl CallerProcess {
    /// Takes hold of the parent. The number cannot come to mean another process meanwhile: a parent
    /// that dies is replaced before its number is free.
    pub(super) fn observe() -> Self {
        let number = getppid();
        Self { number, process: watched(number) }
    }

    /// Returns `order` with the process that ends it, if the run is to end with the caller.
    pub(super) fn tie(self, order: RunJob) -> Result<RunJob, Refusal> {
        let run = &order.run;
        if run.die_with_parent != Some(true) {
            return Ok(order);
        }
        let other =
            run.parent_pid.filter(|named| i64::from(*named) != i64::from(self.number.as_raw()));
        let why = match (other, self.process) {
            (None, Ok(caller)) => return Ok(RunJob { caller: Some(Arc::new(caller)), ..order }),
            (Some(named), _) => format!("process {named} is not its parent, {} is", self.number),
            (None, Err(why)) => why,
        };
        Err(Refusal::new(
            ErrorKind::Setup,
            format!(
                "run.die_with_parent: the run cannot end with the process that called: {why}; call from a process that lives on, or set it to false"
            ),
        ))
    }
}

/// Opens the parent `number`; fails where it only adopted this process.
fn watched(number: Pid) -> Result<ProcessHandle, String> {
    if number.as_raw() == 0 {
        return Err("the parent is in a pid namespace out of sight".to_owned());
    }
    let process = sys::open_process(number).map_err(|error| format!("the parent: {error}"))?;
    if getppid() != number || is_foster(number) {
        return Err("it has died".to_owned());
    }
    Ok(process)
}

/// Returns whether the process `parent` cannot have started this one, which is in a session that is
/// neither its own nor its parent's.
fn is_foster(parent: Pid) -> bool {
    let Ok(own) = getsid(None) else { return false };
    own != getpid() && getsid(Some(parent)) != Ok(own)
}
