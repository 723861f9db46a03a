//! The result: the observations in the protocol's terms, and the exit code.

pub(crate) mod destination;

use std::io;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boxproof_cases::protocol::{Blocked, ErrorKind, PROTOCOL, RunResult, exit};
use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::control::{FailedStep, InitReport};
use crate::error::{Refusal, unspawnable};
use crate::explain::rule;
use crate::mechanism::MechanismFailure;
use crate::request::located;
use crate::supervise::{
    ABANDONED, CapturedOutput, INTERRUPTED, RunOutcome, TIMED_OUT, waiting_failed,
};

/// The end of a run, in the protocol's terms.
pub(crate) struct RunEnding {
    pub(crate) success: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// The error of writing the command's stdin. A command that was ended for another reason need
    /// not have read it.
    pub(crate) stdin_error: Option<String>,
    is_forced: bool,
}

impl RunEnding {
    /// Reads the ending of `outcome`.
    pub(crate) fn from_outcome(outcome: &RunOutcome) -> Self {
        let is_forced = outcome.timed_out || outcome.interrupted_by.is_some() || outcome.abandoned;
        let (mut exit_code, signal) = ending(outcome);
        if outcome.timed_out && fault!("supervise.timeout-code") {
            exit_code = Some(exit::TIMEOUT);
        }
        let unread = outcome.stdin_error.as_ref().filter(|_| outcome.started && !is_forced);
        let stdin_error = unread.map(|error| format!("failed to write process stdin: {error}"));
        let forced = is_forced && fault!("supervise.forced-success");
        let unread = stdin_error.is_none() || fault!("supervise.unread-success");
        let success = forced || outcome.started && exit_code == Some(0) && unread;
        Self { success, exit_code, signal, stdin_error, is_forced }
    }

    /// Returns whether it timed out, or a signal to this process ended it.
    pub(crate) fn is_forced(&self) -> bool {
        self.is_forced
    }
}

/// The result of a run that was tried, and the process exit code.
///
/// `refusal` is why the command was not executed, or why its end is not known.
pub(crate) fn finished(
    outcome: RunOutcome,
    mechanism: &str,
    refusal: Option<&Refusal>,
    request: &Path,
) -> (RunResult, i32) {
    let code = exit_code(&outcome);
    let ending = RunEnding::from_outcome(&outcome);
    let took = if fault!("supervise.no-duration") { Duration::ZERO } else { outcome.took };
    let mechanism = if fault!("supervise.other-mechanism") { "bubblewrap" } else { mechanism };
    let by = outcome.interrupted_by.filter(|_| !fault!("supervise.signal-untold"));
    let twice = annotation(&outcome).filter(|_| fault!("supervise.annotation-twice"));
    let annotations: Vec<String> = annotation(&outcome).into_iter().chain(twice).collect();
    let unread = ending.stdin_error.map(|message| Refusal::new(ErrorKind::Stdin, message));
    let result = RunResult {
        started: outcome.started,
        success: ending.success && refusal.is_none(),
        exit_code: ending.exit_code,
        signal: ending.signal,
        timed_out: outcome.timed_out && !fault!("supervise.timeout-untold"),
        interrupted_by: by.map(|signal| signal.as_str().to_owned()),
        error: refusal.or(unread.as_ref()).map(|refusal| refusal.to_wire(request)),
        ..with_output(outcome.captured, &annotations, blank(mechanism, took))
    };
    (RunResult { annotations, ..result }, code)
}

/// Returns the reason why the command was not executed, or why its end is unknown; `explain` puts a
/// failed set-up into words.
pub(crate) fn why_not(
    outcome: &RunOutcome,
    program: &str,
    cwd: &Path,
    explain: impl Fn(MechanismFailure<'_>) -> Refusal,
) -> Option<Refusal> {
    if let Some(error) = &outcome.broken {
        return Some(Refusal::new(ErrorKind::Wait, waiting_failed(error)));
    }
    if outcome.ended.is_some() {
        return None;
    }
    if let Some((what, errno)) = outcome.failed.filter(|_| !outcome.started) {
        let error = io::Error::from_raw_os_error(errno);
        return Some(match what {
            FailedStep::Exec => Refusal::new(ErrorKind::Spawn, unspawnable(program, &error)),
            FailedStep::Chdir => Refusal::setup(format!(
                "cannot enter {} inside the sandbox: {error}; choose a cwd in the workspace",
                cwd.display()
            )),
            FailedStep::Build(place) => explain(MechanismFailure::At(place, errno)),
            FailedStep::Mediate => Refusal::new(
                ErrorKind::Unavailable,
                format!(
                    "names that do not exist cannot be held on this host: {error}; this takes Linux 5.19 and no other listener for the calls of the command (EBUSY)"
                ),
            ),
            FailedStep::Confine => Refusal::setup(format!("cannot lock the command down: {error}")),
        });
    }
    let is_forced = outcome.timed_out || outcome.interrupted_by.is_some() || outcome.abandoned;
    match (is_forced, outcome.started) {
        (true, false) if outcome.abandoned => {
            Some(Refusal::setup("the process that called died before the command was started"))
        }
        (true, _) => None,
        (false, true) => Some(Refusal::new(
            ErrorKind::Wait,
            format!("the sandbox ended before the command's end was seen ({})", status(outcome)),
        )),
        (false, false) => {
            let said = Some(outcome.said.as_str()).filter(|said| !said.trim().is_empty());
            Some(explain(MechanismFailure::Ended(said, &status(outcome))))
        }
    }
}

fn status(outcome: &RunOutcome) -> String {
    if outcome.mute {
        return "given up: it did not begin in time".to_owned();
    }
    outcome.helper.map_or_else(|| "status unknown".to_owned(), |status| status.to_string())
}

/// Returns the reason why a command without a sandbox was not executed. It always names the
/// program.
pub(crate) fn not_spawned(outcome: &RunOutcome, program: &str) -> Option<String> {
    let (what, errno) = outcome.failed.filter(|_| !outcome.started)?;
    let error = io::Error::from_raw_os_error(errno);
    Some(match what {
        FailedStep::Chdir => unspawnable(program, &format!("its working directory: {error}")),
        _ => unspawnable(program, &error),
    })
}

/// The line that is added to the command's stderr, if its end was not its own.
pub(crate) fn annotation(outcome: &RunOutcome) -> Option<String> {
    match outcome.interrupted_by {
        _ if fault!("supervise.annotation-missing") => None,
        Some(signal) if fault!("supervise.annotation-number") => {
            Some(format!("{INTERRUPTED}{}", signal as i32))
        }
        Some(signal) => Some(format!("{INTERRUPTED}{}", signal.as_str())),
        None if outcome.abandoned => Some(ABANDONED.to_owned()),
        None => outcome.timed_out.then(|| TIMED_OUT.to_owned()),
    }
}

/// Adds `line` to a captured stderr, on a line of its own.
pub(crate) fn annotate(stderr: &mut Vec<u8>, line: &str) {
    if !stderr.is_empty() && !fault!("supervise.annotation-same-line") {
        stderr.push(b'\n');
    }
    stderr.extend(line.as_bytes());
}

fn interrupted_code(signal: Signal) -> i32 {
    match fault!("supervise.one-signal-code") {
        true => exit::SIGNAL_BASE + Signal::SIGINT as i32,
        false => exit::SIGNAL_BASE + signal as i32,
    }
}

/// `exit_code` and `signal` of the result.
fn ending(outcome: &RunOutcome) -> (Option<i32>, Option<i32>) {
    match (outcome.interrupted_by, outcome.started) {
        (Some(signal), true) => return (Some(interrupted_code(signal)), None),
        (_, false) => return (None, None),
        (None, true) => {}
    }
    match outcome.ended {
        _ if outcome.timed_out => (None, None),
        None if outcome.abandoned => (None, Some(Signal::SIGKILL as i32)),
        Some(InitReport::Exited(code)) => (Some(code), None),
        Some(InitReport::Signalled(signal)) => (None, Some(signal)),
        _ => (None, None),
    }
}

/// Our own exit code.
fn exit_code(outcome: &RunOutcome) -> i32 {
    let not_found = Some((FailedStep::Exec, Errno::ENOENT as i32));
    match (outcome.interrupted_by, outcome.timed_out, outcome.ended) {
        (Some(signal), ..) => interrupted_code(signal),
        (None, true, _) => exit::TIMEOUT,
        (None, false, Some(InitReport::Exited(code))) => code,
        (None, false, Some(InitReport::Signalled(signal))) if fault!("supervise.signal-base") => {
            exit::SIGNAL_BASE - 1 + signal
        }
        (None, false, Some(InitReport::Signalled(signal))) => exit::SIGNAL_BASE + signal,
        // The box was killed from outside, and the command with it.
        _ if outcome.started => interrupted_code(Signal::SIGKILL),
        _ if outcome.failed == not_found && !fault!("supervise.not-found-refused") => {
            exit::NOT_FOUND
        }
        _ if fault!("supervise.not-executable-not-found") => exit::NOT_FOUND,
        _ if fault!("supervise.failure-is-one") => 1,
        _ => exit::REFUSED,
    }
}

/// Returns `result` with what was captured, if anything was; stderr ends with `annotations`.
fn with_output(
    captured: Option<CapturedOutput>,
    annotations: &[String],
    result: RunResult,
) -> RunResult {
    let Some(mut captured) = captured else { return result };
    annotations.iter().for_each(|line| annotate(&mut captured.stderr, line));
    RunResult {
        stdout: Some(String::from_utf8_lossy(&captured.stdout).into_owned()),
        stderr: Some(String::from_utf8_lossy(&captured.stderr).into_owned()),
        stdout_b64: (!fault!("supervise.no-bytes")).then(|| STANDARD.encode(&captured.stdout)),
        stderr_b64: Some(STANDARD.encode(&captured.stderr)),
        truncated: Some(captured.truncated.contains(&true)),
        ..result
    }
}

/// Says `refusal` on stderr and in a result.
pub(crate) fn declined(refusal: &Refusal, request_file: &Path) -> (RunResult, i32) {
    let refusal = located(refusal, request_file);
    let place = refusal.line.map(|line| format!("{}:{line}: ", request_file.display()));
    eprintln!("refbox: {}{refusal}", place.unwrap_or_default());
    let error = Some(refusal.to_wire(request_file));
    let blocked = why_blocked(&refusal);
    let code = match refusal.kind {
        ErrorKind::Spawn => exit::NOT_FOUND,
        _ => exit::REFUSED,
    };
    (RunResult { error, blocked, ..blank("", Duration::ZERO) }, code)
}

/// Explains a refusal for want of a sandbox as the sandbox's doing.
pub(crate) fn why_blocked(refusal: &Refusal) -> Option<Blocked> {
    (refusal.kind == ErrorKind::Unavailable).then(|| rule::unavailable(&refusal.message))
}

/// A result with nothing in it yet but that nothing was started.
pub(crate) fn blank(mechanism: &str, took: Duration) -> RunResult {
    RunResult {
        protocol: PROTOCOL,
        started: false,
        success: false,
        exit_code: None,
        signal: None,
        timed_out: false,
        interrupted_by: None,
        refused_routes: None,
        events: Vec::new(),
        events_cut: 0,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        mechanism: mechanism.to_owned(),
        enforced: Default::default(),
        inferred: None,
        blocked: None,
        annotations: Vec::new(),
        limits: Vec::new(),
        error: None,
        stdout: None,
        stderr: None,
        stdout_b64: None,
        stderr_b64: None,
        truncated: None,
    }
}
