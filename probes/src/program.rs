//! The program: [`main`] reads the call, runs one probe and ends with its exit code.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;

use nix::errno::Errno;

use crate::args::{self, ProbeArguments};
use crate::catalog::{ProbeFunction, ProbeSpec, probe};
use crate::check::check;
use crate::deadline;
use crate::exit_code as exit;
use crate::kind;
use crate::observe::{code, fault, observe};
use crate::outcome::ProbeError;
use crate::output::{OutputStream, RecordOutput, write_all};
use crate::seal::own_word;
use crate::usage::{HELP, list};
use crate::usage_error::UsageError;

/// The grace that the front adds to the child's limit, in seconds.
const GRACE: u32 = 2;

/// Options that come before the probe's name.
#[derive(Debug)]
struct ProgramOptions {
    nonce: String,
    record: Option<OutputStream>,
    limit: u32,
}

/// Runs the whole program on `args`, the program's own name left out, and
/// returns its exit code. It forks, sets signal dispositions and an alarm, so
/// call it before any thread exists and exit with what it returns.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    let (message, code) = match run(args) {
        Ok(code) => return code,
        Err(ProbeError::Usage(error)) => (error.to_string(), exit::USAGE),
        Err(ProbeError::TimedOut) => ("out of time".to_owned(), exit::TIMED_OUT),
        Err(ProbeError::Fault(what)) => (what, exit::FAULT),
        Err(ProbeError::Refused { call, errno }) => (format!("{call}: {errno}"), exit::FAULT),
    };
    // The stream may have no reader; the exit code still tells the failure.
    let _ = writeln!(std::io::stderr(), "boxprobe: {message}");
    code
}

fn run(mut argv: impl Iterator<Item = OsString>) -> Result<i32, ProbeError> {
    let mut options =
        ProgramOptions { nonce: String::new(), record: None, limit: deadline::LONGEST };
    let name = loop {
        let word =
            argv.next().ok_or_else(|| UsageError::Act("no probe named; see --help".into()))?;
        if word == "--help" || word == "-h" {
            return print(HELP);
        } else if word == "--list" {
            return print(&list());
        } else if word.as_encoded_bytes().starts_with(b"-") {
            options.take(&word, &mut argv)?;
        } else {
            break word.to_string_lossy().into_owned();
        }
    };
    if options.nonce.is_empty() {
        return Err(UsageError::missing("nonce").into());
    }
    let spec = probe(&name).ok_or(UsageError::UnknownProbe(name))?;
    let named = args::parse(spec.args, argv)?;
    check(spec, &named, |_| false)?;
    let args =
        ProbeArguments { nonce: options.nonce.clone(), parent: nix::unistd::getppid(), named };
    dispatch(spec, &args, &options)
}

impl ProgramOptions {
    fn take(
        &mut self,
        word: &OsStr,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), UsageError> {
        let (name, inline) = args::option(word)?;
        let value = inline.or_else(|| rest.next());
        let value = value.ok_or_else(|| UsageError::bad(&name, "value missing"))?;
        match name.as_str() {
            "nonce" => self.nonce = nonce(&value)?,
            "record" => self.record = Some(stream(&value)?),
            "limit" => self.limit = seconds(&value)?,
            _ => return Err(UsageError::Unexpected(word.to_string_lossy().into_owned())),
        }
        Ok(())
    }
}

fn nonce(value: &OsStr) -> Result<String, UsageError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let fits = |text: &&str| (1..=128).contains(&text.len()) && text.bytes().all(plain);
    let text = value.to_str().filter(fits);
    let expected = "expected 1 to 128 letters, digits and . _ -";
    text.map(str::to_owned).ok_or_else(|| UsageError::bad("nonce", expected))
}

fn stream(value: &OsStr) -> Result<OutputStream, UsageError> {
    match value.to_str() {
        Some("stdout") => Ok(OutputStream::Stdout),
        Some("stderr") => Ok(OutputStream::Stderr),
        _ => Err(UsageError::bad("record", "expected stdout|stderr")),
    }
}

fn seconds(value: &OsStr) -> Result<u32, UsageError> {
    let number = kind::number(value, deadline::LONGEST.into()).filter(|seconds| *seconds > 0);
    let number = number.and_then(|seconds| u32::try_from(seconds).ok());
    number.ok_or_else(|| UsageError::bad("limit", "expected 1..60"))
}

fn print(text: &str) -> Result<i32, ProbeError> {
    match write_all(std::io::stdout(), text.as_bytes()) {
        // A reader that has gone away is no fault.
        Ok(()) | Err(Errno::EPIPE) => Ok(exit::SUCCEEDED),
        Err(errno) => Err(fault("standard output", errno)),
    }
}

fn dispatch(
    spec: &ProbeSpec,
    args: &ProbeArguments,
    options: &ProgramOptions,
) -> Result<i32, ProbeError> {
    let run = spec.run.ok_or_else(|| UsageError::Elsewhere(spec.name.to_owned()))?;
    let stream = match (run, options.record) {
        (ProbeFunction::Emit(_), Some(OutputStream::Stdout)) => {
            return Err(
                UsageError::bad("record", "this probe's stdout is judged: say stderr").into()
            );
        }
        (ProbeFunction::Emit(_), asked) => asked,
        (_, asked) => asked.or(Some(OutputStream::Stdout)),
    };
    // Before the act, which may take the program's own file out of reach.
    let word = own_word(&options.nonce);
    let out = RecordOutput { probe: spec.name, nonce: &word, stream, limit: options.limit };
    match run {
        ProbeFunction::See(look) => {
            arm(options.limit + GRACE)?;
            let record = observe(spec.name, look, args, options.limit)?;
            out.record(&record)?;
            Ok(code(&record))
        }
        ProbeFunction::Act(act) | ProbeFunction::Emit(act) => {
            arm(options.limit)?;
            refusal_is_recorded(&out, act(args, &out))
        }
    }
}

fn arm(seconds: u32) -> Result<(), ProbeError> {
    deadline::arm(seconds).map_err(|errno| fault("the time limit can't be set", errno))
}

/// An act that was refused says so like any other probe.
fn refusal_is_recorded(
    out: &RecordOutput<'_>,
    end: Result<i32, ProbeError>,
) -> Result<i32, ProbeError> {
    match end {
        Err(refused @ ProbeError::Refused { .. }) => Ok(code(&out.report(Err(refused))?)),
        other => other,
    }
}
