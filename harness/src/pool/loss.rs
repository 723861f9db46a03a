//! Losses of workers: the reason for one, and how the worker is ended then.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::sweep;

/// The time that a killed worker may take to die.
const DEATH: Duration = Duration::from_secs(2);

/// The reason why a worker is given up.
#[derive(Debug)]
pub(super) enum WorkerLoss {
    /// It died, or its end of the line was closed.
    Died,
    /// A signal stopped it.
    Stopped,
    /// It holds its job for longer than that can take.
    Overdue,
    /// Bytes came by its line that it cannot have sent.
    Forged(String),
}

/// Ends worker `pid`; returns the reason of the loss, as a sentence.
pub(super) fn end(pid: Pid, loss: &WorkerLoss) -> String {
    if !matches!(loss, WorkerLoss::Died) {
        let _ = kill(pid, Signal::SIGKILL);
    }
    let status = status_of(pid, Instant::now() + DEATH);
    match loss {
        WorkerLoss::Died => match status {
            Some(status) => format!("its worker died: {status:?}"),
            None => "its worker's socket was closed, and not by the worker".to_owned(),
        },
        WorkerLoss::Stopped => {
            "its worker died: it was stopped by a signal, which only a process of the case or of \
             the backend sends, and was killed"
                .to_owned()
        }
        WorkerLoss::Overdue => {
            "its worker did not answer in time: every time limit of the case together has passed, \
             and a process of the case or of the backend holds the worker; it was killed"
                .to_owned()
        }
        WorkerLoss::Forged(what) => format!(
            "{what} came by its worker's socket: no answer of its worker; a process of the case \
             or of the backend has reached for that socket"
        ),
    }
}

/// Returns the status of child `pid`, if it has ended by `deadline`.
fn status_of(pid: Pid, deadline: Instant) -> Option<WaitStatus> {
    loop {
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if Instant::now() < deadline => {
                sweep::wait_for_one(&[pid], deadline);
            }
            Ok(WaitStatus::StillAlive) | Err(_) => return None,
            Ok(status) => return Some(status),
        }
    }
}
