//! Runs one command to its end: one loop over descriptors, no polling.
//!
//! A signal to us, or the end of its time, reaches the command itself; then a grace, then KILL to
//! everything that is left, wherever it went.

mod capture;
mod process_tree;
mod refusals;
mod signals;
mod sources;
mod stdin_feed;
mod streams;
mod supervisor;
mod tee;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use boxproof_cases::protocol::ErrorKind;

use crate::control::RunningSandbox;
use crate::control::{FailedStep, InitReport, UnreachableCounts};
use crate::error::Refusal;
use crate::sys::ProcessHandle;

use process_tree::ProcessTree;
use supervisor::{Supervisor, WaitInstruments};

pub(crate) use crate::policy::redact::SecretValues;
pub use capture::CAPTURE_CAP;
pub(crate) use refusals::RefusalFeed;
pub(crate) use signals::hold as hold_signals;
pub(crate) use streams::{CapturedOutput, OutputMode, StdinSource, StreamEnds, plumb};

/// Time a command has between TERM and KILL. No request can change it.
pub const GRACE: Duration = Duration::from_secs(5);
/// The grace of this run.
fn grace() -> Duration {
    match () {
        () if fault!("supervise.grace-short") => Duration::from_secs(4),
        () if fault!("supervise.grace-long") => Duration::from_secs(6),
        () if fault!("supervise.grace-none") => Duration::from_millis(1),
        () => GRACE,
    }
}

/// Time a helper program has to start the inner stage.
const BEGINNING: Duration = Duration::from_secs(10);
/// The annotation on the stderr of a command that timed out.
pub const TIMED_OUT: &str = "process timed out";
/// The annotation on the stderr of a command that was killed because the caller had died.
pub(crate) const ABANDONED: &str = "process killed as its caller died";
/// The annotation, before the signal's name, on the stderr of a command that a signal to this
/// process ended.
pub const INTERRUPTED: &str = "process interrupted by signal ";

/// Everything that was observed of one run.
#[derive(Debug)]
pub(crate) struct RunOutcome {
    /// The command was executed.
    pub(crate) started: bool,
    /// The reason why it could not be executed: the failed step, and the errno.
    pub(crate) failed: Option<(FailedStep, i32)>,
    /// The end of the command: [`InitReport::Exited`] or [`InitReport::Signalled`].
    pub(crate) ended: Option<InitReport>,
    /// The destinations that it did not reach, if they were counted.
    pub(crate) unreached: Option<UnreachableCounts>,
    /// The time at which its start was seen, from which its timeout counts.
    pub(crate) started_at: Option<Instant>,
    /// The time at which its end was seen.
    pub(crate) ended_at: Option<Instant>,
    /// It timed out.
    pub(crate) timed_out: bool,
    /// The helper was given up, as it started no inner stage.
    pub(crate) mute: bool,
    /// The signal to us that ended the run.
    pub(crate) interrupted_by: Option<Signal>,
    /// It was killed because the caller had died.
    pub(crate) abandoned: bool,
    /// The exit status of the helper; `None` if this process has its children reaped elsewhere.
    pub(crate) helper: Option<ExitStatus>,
    /// The messages of the helper itself.
    pub(crate) said: String,
    /// The time from spawn to return.
    pub(crate) took: Duration,
    /// The captured streams.
    pub(crate) captured: Option<CapturedOutput>,
    /// The error of writing the command's stdin.
    pub(crate) stdin_error: Option<io::Error>,
    /// The error that stopped following the run and killed it.
    pub(crate) broken: Option<io::Error>,
}

/// The state of the run so far.
#[derive(Debug, Default)]
struct RunProgress {
    started: bool,
    started_at: Option<Instant>,
    failed: Option<(FailedStep, i32)>,
    ended: Option<InitReport>,
    unreached: Option<UnreachableCounts>,
    ended_at: Option<Instant>,
    timed_out: bool,
    /// The inner stage runs.
    begun: bool,
    mute: bool,
    interrupted_by: Option<Signal>,
    abandoned: bool,
    /// The command is being ended because its stdin could not be written.
    unfed: bool,
    /// A signal to this process reached the command while it lived.
    passed: bool,
}

/// The bounds of a run, and what is heard of it besides its end.
#[derive(Default)]
pub(crate) struct RunBounds<'a> {
    /// The time that the command has.
    pub(crate) timeout: Option<Duration>,
    /// The process whose death ends the run.
    pub(crate) caller: Option<&'a ProcessHandle>,
    /// The calls that are refused meanwhile.
    pub(crate) refusals: Option<RefusalFeed<'a>>,
}

/// Starts the helper, follows it to its end, and returns when none of its processes is left.
pub(crate) fn supervise(
    start: impl FnOnce() -> Result<RunningSandbox, Refusal>,
    control: OwnedFd,
    streams: StreamEnds,
    bounds: RunBounds<'_>,
) -> Result<RunOutcome, Refusal> {
    let signals = signals::SignalInbox::listen(&control).map_err(Refusal::setup)?;
    let instruments =
        WaitInstruments::new(signals, bounds.caller).map_err(|error| failed(&error))?;
    let begun = Instant::now();
    let RunningSandbox { process, said, namespaced, stack } = start()?;
    let tree = ProcessTree::new(process, stack, namespaced, control);
    see_through(instruments, tree, streams, bounds, said, begun).map_err(|error| failed(&error))
}

/// The refusal of a run that could not be followed.
fn failed(error: &io::Error) -> Refusal {
    Refusal::new(ErrorKind::Wait, waiting_failed(error))
}

/// Returns the message for a run that could not be followed to its end.
pub(crate) fn waiting_failed(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => format!("failed waiting for process: {error}"),
        // The error itself names the failed operation.
        None => error.to_string(),
    }
}

fn see_through(
    instruments: WaitInstruments,
    mut tree: ProcessTree,
    mut streams: StreamEnds,
    bounds: RunBounds<'_>,
    said: Option<File>,
    begun: Instant,
) -> io::Result<RunOutcome> {
    let mut supervisor = Supervisor {
        instruments,
        tree: &mut tree,
        streams: &mut streams,
        bounds,
        // Only a program of others says something itself, and can be one that starts nothing.
        seen: RunProgress { begun: said.is_none(), ..RunProgress::default() },
    };
    let broken = supervisor.follow().err();
    let Supervisor { seen, instruments, mut bounds, .. } = supervisor;
    if broken.is_some() {
        tree.kill()?;
        tree.reap_helper()?;
    }
    bounds.refusals.as_mut().map_or(Ok(()), RefusalFeed::finish)?;
    let (captured, stdin_error) = streams.finish()?;
    drop(instruments);
    // Last, as a helper beside us ends meanwhile.
    let helper = tree.reap_helper()?;
    Ok(RunOutcome {
        // After a lost report the command may have started.
        started: seen.started || (broken.is_some() && seen.failed.is_none()),
        failed: seen.failed,
        ended: seen.ended,
        unreached: seen.unreached,
        started_at: seen.started_at,
        ended_at: seen.ended_at,
        timed_out: seen.timed_out,
        mute: seen.mute,
        interrupted_by: seen.interrupted_by,
        abandoned: seen.abandoned,
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
