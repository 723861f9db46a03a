//! The contract as a function: one request in, one result out, nothing left behind.

mod request;

use std::ffi::OsStr;
use std::io;
use std::time::{Duration, Instant};

use boxproof_cases::protocol::ErrorKind;

use crate::control::{self, CommandContainment, LaunchSpec};
use crate::error::{Refusal, unspawnable};
use crate::init::SandboxInit;
use crate::mechanism::unconfined;
use crate::result;
use crate::supervise::{
    OutputMode, RunBounds, RunOutcome, SecretValues, StdinSource, plumb, supervise, waiting_failed,
};
use crate::sys::launcher_environment;

pub use crate::policy::redact::{REDACTED, REDACTED_ENV, SHORTEST_SECRET, is_sensitive_env_name};
pub use crate::supervise::{CAPTURE_CAP, GRACE, INTERRUPTED, TIMED_OUT};
pub use request::{ProcessEnvironment, ProcessOutput, ProcessRequest, ProcessStdin};

/// The judge of a request before anything is started.
pub trait Sandbox {
    /// Refuses a request: nothing of it happens.
    ///
    /// # Errors
    /// The reason, which [`run_process`] returns as it is.
    fn validate(&self, _request: &ProcessRequest) -> Result<(), String> {
        Ok(())
    }

    /// Puts a program that confines in front of the command.
    fn wrap(&self, request: ProcessRequest) -> ProcessRequest {
        request
    }
}

/// Accepts everything and confines nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unsandboxed;

impl Sandbox for Unsandboxed {}

/// The reason why there is no result, or no reliable one. No child is left in any case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// The sandbox refused the request.
    #[error("{0}")]
    Refused(String),
    /// The request is invalid.
    #[error("execution failed: {0}")]
    Invalid(String),
    /// The command could not be started, or a resource for it was not available.
    #[error("execution failed: {0}")]
    Spawn(String),
    /// Its stdin could not be written: `failed to write process stdin: …`.
    #[error("execution failed: {0}")]
    Stdin(String),
    /// Waiting for it, or reading its streams, failed; it was killed.
    #[error("execution failed: {0}")]
    Wait(String),
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessResult {
    /// The command itself exited with 0, and all of its stdin was written.
    pub success: bool,
    /// The command's own, or 128+n where signal n to this process ended the run; `None` after a
    /// timeout and for a command that died of a signal.
    pub exit_code: Option<i32>,
    /// The signal the command died of.
    pub signal: Option<i32>,
    /// It timed out.
    pub timed_out: bool,
    /// The signal to this process that ended the run (`SIGTERM`, …).
    pub interrupted_by: Option<String>,
    /// The first [`CAPTURE_CAP`] bytes of stdout, as they were written; empty if passed on.
    pub stdout: Vec<u8>,
    /// The captured stderr, followed by the annotation, if there is one.
    pub stderr: Vec<u8>,
    /// More was written to stdout, to stderr.
    pub truncated: [bool; 2],
    /// The time from spawn to return, when none of its processes was left.
    pub duration: Duration,
    /// The time at which the command's start was seen, from which its timeout counts.
    pub started_at: Option<Instant>,
    /// The time at which the command's own end was seen; `None` where it was not seen, as the
    /// command was killed with all the rest.
    pub ended_at: Option<Instant>,
    /// An error in spite of which the command's end is known.
    pub error: Option<ProcessError>,
}

impl ProcessResult {
    /// Returns stdout as text; invalid UTF-8 becomes U+FFFD.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns stderr as text; invalid UTF-8 becomes U+FFFD.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs one command and returns when none of its processes is left.
///
/// Calls in several threads run side by side. While any runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT
/// to this process end all of them, and SIGTSTP and SIGCONT are passed on; then the previous
/// actions of these signals are restored.
///
/// # Errors
/// See [`ProcessError`]; started processes are killed first.
pub fn run_process(
    request: ProcessRequest,
    sandbox: &dyn Sandbox,
) -> Result<ProcessResult, ProcessError> {
    sandbox.validate(&request).map_err(ProcessError::Refused)?;
    let request = sandbox.wrap(request);
    if request.timeout == Some(Duration::ZERO) {
        let message = "a timeout of 0 leaves no time; use None for no timeout";
        return Err(ProcessError::Invalid(message.to_owned()));
    }
    supervised(request)
}

fn supervised(request: ProcessRequest) -> Result<ProcessResult, ProcessError> {
    let program = request.program.to_string_lossy().into_owned();
    concluded(carried_out(request, &program).map_err(error_of)?, &program)
}

fn carried_out(request: ProcessRequest, program: &str) -> Result<RunOutcome, Refusal> {
    let not_spawned =
        |why: &dyn std::fmt::Display| Refusal::new(ErrorKind::Spawn, unspawnable(program, why));
    let env = request.environment.variables();
    let argv: Vec<&OsStr> =
        std::iter::once(&request.program).chain(&request.args).map(|word| &**word).collect();
    let cwd = request.current_dir.as_deref().unwrap_or(".".as_ref());
    let launch = LaunchSpec::new(CommandContainment::Subreaper, cwd, &argv, &env)
        .map_err(|_| not_spawned(&NUL_BYTE))?;
    let known = launcher_environment();
    let secrets = || SecretValues::from_environment(known.iter().chain(&env));
    let output = match (request.output, request.debug) {
        (ProcessOutput::PassThrough, _) => OutputMode::Inherit,
        (ProcessOutput::Capture, false) => OutputMode::Capture,
        (ProcessOutput::Capture, true) => OutputMode::CaptureAndShow(secrets()),
    };
    let os = |error: io::Error| not_spawned(&error);
    let (ours, theirs) = control::pair().map_err(os)?;
    let (streams, kept) = plumb(request.stdin.into(), output).map_err(os)?;
    let start = || {
        let inner = SandboxInit::new(&launch, theirs, streams);
        let started = inner.and_then(|inner| unconfined::start(&inner));
        started.map_err(os)
    };
    let bounds = RunBounds { timeout: request.timeout, ..RunBounds::default() };
    supervise(start, ours, kept, bounds)
}

/// The standard library's message for a string that cannot become a C string.
const NUL_BYTE: &str = "nul byte found in provided data";

fn error_of(refusal: Refusal) -> ProcessError {
    match refusal.kind {
        ErrorKind::Wait => ProcessError::Wait(refusal.message),
        _ => ProcessError::Spawn(refusal.message),
    }
}

fn concluded(outcome: RunOutcome, program: &str) -> Result<ProcessResult, ProcessError> {
    if let Some(error) = &outcome.broken {
        return Err(ProcessError::Wait(waiting_failed(error)));
    }
    if let Some(why) = result::not_spawned(&outcome, program) {
        return Err(ProcessError::Spawn(why));
    }
    let ended = result::RunEnding::from_outcome(&outcome);
    // A command that does not read its stdin is ended, by KILL in the end, without a report of its
    // end.
    if outcome.ended.is_none() && !ended.is_forced() && ended.stdin_error.is_none() {
        let lost = "failed waiting for process: what followed it was killed";
        return Err(ProcessError::Wait(lost.to_owned()));
    }
    let annotation = result::annotation(&outcome);
    let mut captured = outcome.captured.unwrap_or_default();
    annotation.iter().for_each(|line| result::annotate(&mut captured.stderr, line));
    Ok(ProcessResult {
        success: ended.success,
        exit_code: ended.exit_code,
        signal: ended.signal,
        timed_out: outcome.timed_out,
        interrupted_by: outcome.interrupted_by.map(|signal| signal.as_str().to_owned()),
        stdout: captured.stdout,
        stderr: captured.stderr,
        truncated: captured.truncated,
        duration: outcome.took,
        started_at: outcome.started_at,
        ended_at: outcome.ended_at,
        error: ended.stdin_error.map(ProcessError::Stdin),
    })
}

impl From<ProcessStdin> for StdinSource {
    fn from(stdin: ProcessStdin) -> Self {
        match stdin {
            ProcessStdin::Inherit => Self::Inherit,
            ProcessStdin::Null => Self::Null,
            ProcessStdin::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}
