//! The runs of a matrix, each a `boxproof run` of its own that may become another user.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use boxproof_reports::record::read;
use boxproof_reports::{Header, Run};

use super::super::Failure;
use super::Args;
use crate::backend::shipped_names;
use crate::sys;

/// Backends that are there for the audit of the corpus.
const AUDIT: [&str; 2] = ["allow-all", "deny-all"];

/// The bytes of the record of one run as `user`; or the exit code where there is none.
pub(super) fn record(args: &Args, user: Option<&str>) -> Result<Result<Vec<u8>, i32>, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments(args, user)?).stdin(Stdio::null()).stderr(Stdio::inherit());
    sys::end_with_parent(&mut command);
    let output = command.output()?;
    match output.status.code() {
        // Whatever the verdicts are: a record that is not whole is refused where it is read.
        Some(0 | 1 | 3 | 4) if !output.stdout.is_empty() => Ok(Ok(output.stdout)),
        // It has said why.
        Some(code) => Ok(Err(code)),
        None => Err(Failure::usage(format!("boxproof run: {}", output.status))),
    }
}

/// What the record says; whether it is whole is checked on the way.
pub(super) fn read_back(bytes: &[u8]) -> Result<Run, Failure> {
    read(bytes).map_err(|error| Failure::usage(format!("the record is broken: {error}")))
}

/// The name of a record's file: one a host and user, so that a newer run replaces an older one.
pub(super) fn file_name(header: &Header) -> String {
    let fact = |name: &str| header.host.get(name).and_then(|value| value.as_str());
    let host = fact("distro").or(fact("os")).unwrap_or("unknown");
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let host: String = host.chars().map(word).collect();
    let parts: Vec<&str> = host.split('-').filter(|part| !part.is_empty()).collect();
    format!("run-{}-{}.ndjson", parts.join("-"), header.user.kind.word())
}

fn specs(args: &Args) -> Vec<String> {
    let all = ["reference"].into_iter().chain(shipped_names());
    let all = all.filter(|name| !AUDIT.contains(name)).map(str::to_owned);
    let mut specs: Vec<String> = Vec::new();
    for spec in &args.backends {
        match spec.as_str() {
            "all" => specs.extend(all.clone()),
            _ => specs.push(spec.clone()),
        }
    }
    specs
}

fn arguments(args: &Args, user: Option<&str>) -> Result<Vec<String>, Failure> {
    let mut words: Vec<String> =
        ["run", "--format", "ndjson", "--allow-missing"].map(str::to_owned).into();
    for spec in specs(args) {
        words.extend(["--backend".to_owned(), spec]);
    }
    words.extend(user.into_iter().flat_map(|name| ["--user".to_owned(), name.to_owned()]));
    if args.cases.slow {
        words.push("--slow".to_owned());
    }
    for (flag, folder) in [("--cases", &args.cases.cases), ("--scratch", &args.scratch)] {
        if let Some(folder) = folder {
            words.extend([flag.to_owned(), text(folder)?]);
        }
    }
    words.push("--".to_owned());
    words.extend(args.cases.filters.iter().cloned());
    Ok(words)
}

fn text(path: &Path) -> Result<String, Failure> {
    PathBuf::from(path).into_os_string().into_string().map_err(|path| {
        Failure::usage(format!("{}: not UTF-8, so that it cannot be passed on", path.display()))
    })
}
