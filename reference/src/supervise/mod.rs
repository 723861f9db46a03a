//! Runs one command to its end: one loop over descriptors, no polling.
//!
//! A signal to us, or the end of its time, reaches the command itself; then a grace, then KILL to
//! everything that is left, wherever it went. [`run_process`] is this as a function.

mod capture;
mod feed;
mod follow;
mod process;
mod signals;
mod sources;
mod streams;
mod tee;
mod tree;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use boxproof_cases::protocol::ErrorKind;

use crate::control::{Failed, Report, Unreached};
use crate::error::Refusal;
use crate::mechanism::Running;

use follow::{Instruments, Supervisor};
use tree::Tree;

pub(crate) use crate::redact::Secrets;
pub use crate::redact::{REDACTED, REDACTED_ENV, SHORTEST_SECRET, is_sensitive_env_name};
pub use capture::CAPTURE_CAP;
pub use process::{
    Environment, ProcessError, ProcessOutput, ProcessRequest, ProcessResult, ProcessStdin, Sandbox,
    Unsandboxed, run_process,
};
pub(crate) use signals::hold as hold_signals;
pub(crate) use streams::{Captured, Input, Ours, Output, plumb};

/// Time a command has between TERM and KILL. No request can change it.
pub const GRACE: Duration = Duration::from_secs(5);
/// Time a helper program has to start the inner stage.
const BEGINNING: Duration = Duration::from_secs(10);
/// What is added to the stderr of a command whose time was up.
pub const TIMED_OUT: &str = "process timed out";
/// What is added, with the signal's name, to the stderr of a command that a signal to us ended.
pub const INTERRUPTED: &str = "process interrupted by signal ";

/// Everything that was observed of one run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Whether the command was executed.
    pub(crate) started: bool,
    /// Why it could not be executed: what was being done, and the errno.
    pub(crate) failed: Option<(Failed, i32)>,
    /// How the command ended: [`Report::Exited`] or [`Report::Signalled`].
    pub(crate) ended: Option<Report>,
    /// What it did not reach, if that was counted.
    pub(crate) unreached: Option<Unreached>,
    /// When its start was seen, from which its time counts.
    pub(crate) started_at: Option<Instant>,
    /// When its end was seen.
    pub(crate) ended_at: Option<Instant>,
    /// Whether its time was up.
    pub(crate) timed_out: bool,
    /// Whether the helper was given up, as it started no inner stage.
    pub(crate) mute: bool,
    /// The signal to us that ended the run.
    pub(crate) interrupted_by: Option<Signal>,
    /// How the helper ended; `None` if this process has its children reaped elsewhere.
    pub(crate) helper: Option<ExitStatus>,
    /// What the helper itself said.
    pub(crate) said: String,
    /// From spawn to return.
    pub(crate) took: Duration,
    /// What was captured.
    pub(crate) captured: Option<Captured>,
    /// Why the command's stdin could not be written.
    pub(crate) stdin_error: Option<io::Error>,
    /// Why we stopped following the run and killed it.
    pub(crate) broken: Option<io::Error>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Seen {
    started: bool,
    started_at: Option<Instant>,
    failed: Option<(Failed, i32)>,
    ended: Option<Report>,
    unreached: Option<Unreached>,
    ended_at: Option<Instant>,
    timed_out: bool,
    /// Whether the inner stage runs.
    begun: bool,
    mute: bool,
    interrupted_by: Option<Signal>,
    /// Whether it is being ended because its stdin could not be written.
    unfed: bool,
    /// Whether a signal of ours reached the command while it lived.
    passed: bool,
}

/// Has the helper started, sees it to its end, and returns when nothing of it is left.
pub(crate) fn supervise(
    start: impl FnOnce() -> Result<Running, Refusal>,
    control: OwnedFd,
    streams: Ours,
    timeout: Option<Duration>,
) -> Result<Outcome, Refusal> {
    let signals = signals::Signals::listen(&control).map_err(Refusal::setup)?;
    let instruments = Instruments::new(signals).map_err(|error| failed(&error))?;
    let begun = Instant::now();
    let Running { process, said, namespaced, stack } = start()?;
    let tree = Tree::new(process, stack, namespaced, control);
    see_through(instruments, tree, streams, timeout, said, begun).map_err(|error| failed(&error))
}

/// The refusal of a run that could not be followed.
fn failed(error: &io::Error) -> Refusal {
    Refusal::new(ErrorKind::Wait, waiting_failed(error))
}

/// What is said where a run could not be followed to its end.
pub(crate) fn waiting_failed(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => format!("failed waiting for process: {error}"),
        // It says itself what could not be done.
        None => error.to_string(),
    }
}

fn see_through(
    instruments: Instruments,
    mut tree: Tree,
    mut streams: Ours,
    timeout: Option<Duration>,
    said: Option<File>,
    begun: Instant,
) -> io::Result<Outcome> {
    let mut supervisor = Supervisor {
        instruments,
        tree: &mut tree,
        streams: &mut streams,
        timeout,
        // Only a program of others says something itself, and can be one that starts nothing.
        seen: Seen { begun: said.is_none(), ..Seen::default() },
    };
    let broken = supervisor.follow().err();
    let Supervisor { seen, instruments, .. } = supervisor;
    if broken.is_some() {
        tree.kill()?;
        tree.bury()?;
    }
    let (captured, stdin_error) = streams.finish()?;
    drop(instruments);
    // Last, as a helper beside us ends meanwhile.
    let helper = tree.bury()?;
    Ok(Outcome {
        // Where nothing more was heard it may have been.
        started: seen.started || (broken.is_some() && seen.failed.is_none()),
        failed: seen.failed,
        ended: seen.ended,
        unreached: seen.unreached,
        started_at: seen.started_at,
        ended_at: seen.ended_at,
        timed_out: seen.timed_out,
        mute: seen.mute,
        interrupted_by: seen.interrupted_by,
        helper,
        said: said.map_or(Ok(String::new()), text)?,
        took: begun.elapsed(),
        captured,
        stdin_error,
        broken,
    })
}

fn text(mut file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
