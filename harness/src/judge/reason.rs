//! Reading how a run ended: exits, signals, refusals, and the reason a tool gives in words.

use boxproof_cases::case::ExitExpect;
use boxproof_cases::protocol::RunResult;
use boxproof_cases::protocol::exit::SIGNAL_BASE;
use boxproof_reports::Verdict;
use nix::errno::Errno;
use nix::sys::signal::Signal;

use super::Finding;
use crate::backend::Special;
use crate::execution::{Exit, RunReport};

/// Shell codes for a program that was never executed.
const NOT_EXECUTED: [i32; 2] = [126, 127];
/// The most characters of a stream that a message quotes.
const EXCERPT: usize = 120;

/// Why the backend declined the policy, if it did.
pub(super) fn declined(run: &RunReport) -> Option<String> {
    if let Some(Special::Refused(why)) = &run.special {
        return Some(why.clone());
    }
    let result = run.result.as_ref().filter(|result| !result.started)?;
    let error = result.error.as_ref().filter(|error| {
        // A program that is not there is the command's fault, not the policy's.
        error.kind != boxproof_cases::protocol::ErrorKind::Spawn
    })?;
    Some(error.message.clone())
}

/// How the run ended, as a clause.
pub(super) fn ended(run: &RunReport) -> String {
    match &run.exit {
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(number) => format!("was killed by {}", signal_name(*number)),
        Exit::TimedOut => "did not end in time".to_owned(),
        Exit::Refused => "was refused".to_owned(),
    }
}

fn signal_name(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |s| s.to_string())
}

/// Whether two runs ended alike: signal n is 128+n, unless a native result names the signal.
pub(super) fn same_exit(one: &RunReport, other: &RunReport) -> bool {
    code_of(one).is_some() && code_of(one) == code_of(other)
}

/// The exit as a shell would put it.
fn code_of(run: &RunReport) -> Option<i32> {
    match run.exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(number) => Some(SIGNAL_BASE + number),
        Exit::TimedOut | Exit::Refused => None,
    }
}

/// Whether `run` ended as `wanted`.
pub(super) fn exit_fits(wanted: &ExitExpect, run: &RunReport) -> Result<(), String> {
    let code = code_of(run);
    let fits = match wanted {
        ExitExpect::Code(wanted) => run.exit == Exit::Code(*wanted),
        ExitExpect::Nonzero => code.is_some_and(|code| code != 0),
        ExitExpect::Signal(name) => {
            let number = format!("SIG{name}").parse::<Signal>().map(|signal| signal as i32).ok();
            let named = run.result.as_ref().and_then(|result| result.signal);
            number.is_some() && (named == number || code == number.map(|n| SIGNAL_BASE + n))
        }
    };
    if fits {
        return Ok(());
    }
    Err(format!("it {} instead of {wanted}: {}", ended(run), excerpt(&run.stderr.text)))
}

/// Whether an act without an observation says in words that it failed for one of `errnos`.
pub(super) fn told(errnos: &[String], run: &RunReport) -> Result<(), Finding> {
    match run.exit {
        Exit::Code(0) => {
            return Err(Finding::new(
                Verdict::Contract,
                "not-refused",
                "the act exits with 0 although nothing happened: a refusal is promised",
            ));
        }
        Exit::Code(code) if NOT_EXECUTED.contains(&code) => {
            let message = format!("exit {code}: {}", excerpt(&run.stderr.text));
            return Err(Finding::inconclusive("not-executed", message));
        }
        _ => {}
    }
    let mut messages = errnos.iter().filter_map(|name| message(name));
    if messages.any(|text| run.stderr.text.contains(&text)) {
        return Ok(());
    }
    let message = format!(
        "it {} without naming {}: {}",
        ended(run),
        errnos.join(" or "),
        excerpt(&run.stderr.text)
    );
    Err(Finding::inconclusive("no-reason", message))
}

/// What the C library says for the errno called `name`, in the locale that every act has.
fn message(name: &str) -> Option<String> {
    // The kernel's numbers are dense; asking each for its name needs no table of our own.
    let number = (1..=133).find(|number| format!("{:?}", Errno::from_raw(*number)) == name)?;
    let text = std::io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().map(str::to_owned)
}

/// Where a native result is lacking, or contradicts itself or the process's exit.
pub(super) fn contradiction(run: &RunReport) -> Option<String> {
    if let Some(Special::NoResult(why)) = &run.special {
        return Some(why.clone());
    }
    let result = run.result.as_ref()?;
    if let Some(message) = inconsistent(result) {
        return Some(message.to_owned());
    }
    let code = result.exit_code.or(result.signal.map(|number| SIGNAL_BASE + number))?;
    let interrupted = result.interrupted_by.is_some() || result.timed_out;
    if interrupted || code_of(run) == Some(code) {
        return None;
    }
    Some(format!("the result says {code}, but the backend {}", ended(run)))
}

/// What a result says that cannot all be true.
fn inconsistent(result: &RunResult) -> Option<&'static str> {
    let ended = result.exit_code.is_some() || result.signal.is_some();
    let stopped = result.timed_out || result.interrupted_by.is_some();
    if result.success && result.exit_code != Some(0) {
        Some("the result says success without exit code 0")
    } else if !result.started && result.error.is_none() {
        Some("the result says that nothing was started, but not why")
    } else if result.started && !ended && !stopped {
        Some("the result says neither an exit code nor a signal")
    } else {
        None
    }
}

/// The start of `text`, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.trim().replace('\n', " | ");
    match line.char_indices().nth(EXCERPT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
