//! `boxproof run` in a process of its own, which may become another user: [`record`].

use std::path::Path;
use std::process::{Command, Stdio};

use boxproof_reports::Run;
use boxproof_reports::record::read;
use nix::sys::signal::Signal;

use super::{CliFailure, SettledCases};
use crate::sys;

/// The request of such a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChildRequest<'a> {
    pub(super) cases: &'a SettledCases,
    pub(super) backends: &'a [String],
    pub(super) scratch: Option<&'a Path>,
    /// As `--user` of `run`.
    pub(super) user: Option<&'a str>,
}

/// The bytes of its record; or its exit code where there is none, after it has said why.
pub(super) fn record(asked: ChildRequest<'_>) -> Result<Result<Vec<u8>, i32>, CliFailure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments(asked)?).stdin(Stdio::null()).stderr(Stdio::inherit());
    sys::end_with_parent(&mut command, Signal::SIGTERM);
    let output = command.output()?;
    match output.status.code() {
        // With any verdicts: a record that is not whole is refused where it is read.
        Some(0 | 1 | 3 | 4) if !output.stdout.is_empty() => Ok(Ok(output.stdout)),
        Some(code) => Ok(Err(code)),
        None => Err(CliFailure::usage(format!("boxproof run: {}", output.status))),
    }
}

/// Parses a record, and checks on the way that it is whole.
pub(super) fn read_back(bytes: &[u8]) -> Result<Run, CliFailure> {
    read(bytes).map_err(|error| CliFailure::usage(format!("the record is broken: {error}")))
}

fn arguments(asked: ChildRequest<'_>) -> Result<Vec<String>, CliFailure> {
    let mut words: Vec<String> =
        ["run", "--no-project", "--format", "ndjson", "--allow-missing"].map(str::to_owned).into();
    for spec in asked.backends {
        words.extend(["--backend".to_owned(), spec.clone()]);
    }
    words.extend(asked.user.into_iter().flat_map(|name| ["--user".to_owned(), name.to_owned()]));
    words.push("--gaps".to_owned());
    if asked.cases.slow {
        words.push("--slow".to_owned());
    }
    let cases = asked.cases.corpus.directories.iter().map(|path| ("--cases", path.as_path()));
    for (flag, directory) in cases.chain(asked.scratch.map(|path| ("--scratch", path))) {
        words.extend([flag.to_owned(), text(directory)?]);
    }
    words.push("--".to_owned());
    words.extend(asked.cases.filters.iter().cloned());
    Ok(words)
}

fn text(path: &Path) -> Result<String, CliFailure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        CliFailure::usage(format!("{}: not UTF-8, so that it cannot be passed on", path.display()))
    })
}
