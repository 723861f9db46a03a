//! The runs of a matrix: in this process, or as another user in one of its own.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use boxproof_reports::record::read;
use boxproof_reports::{Header, Run};
use nix::unistd::{Uid, User};

use super::super::{Failure, backends, run::record as written};
use super::Args;
use crate::backend::shipped_names;
use crate::session::{Conclusion, Request, conduct};
use crate::sys;

/// Backends that are there for the audit of the corpus.
const AUDIT: [&str; 2] = ["allow-all", "deny-all"];

/// The bytes of one record; or the exit code where there is none.
pub(super) fn record(args: &Args, user: Option<&str>) -> Result<Result<Vec<u8>, i32>, Failure> {
    match user {
        None => here(args),
        Some(name) => elsewhere(args, name),
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

fn here(args: &Args) -> Result<Result<Vec<u8>, i32>, Failure> {
    let suite = args.cases.suite()?;
    let request = Request {
        selection: args.cases.selection(&suite)?,
        suite,
        backends: backends(&specs(args))?,
        all: false,
        strict: false,
        jobs: None,
        scratch: args.scratch.clone(),
        reproduce: args.cases.reproduce(),
    };
    match conduct(&request, |_, _| {})? {
        Conclusion::Finished(finished) => Ok(Ok(written(finished.header, finished.rows)?.1)),
        Conclusion::Interrupted(signal) => Ok(Err(128 + signal as i32)),
    }
}

/// `boxproof run` as the user called `name`, by a copy of this program that it can execute.
fn elsewhere(args: &Args, name: &str) -> Result<Result<Vec<u8>, i32>, Failure> {
    if !Uid::effective().is_root() {
        return Err(Failure::usage("only root can run as another user: leave --user out"));
    }
    let user = User::from_name(name).map_err(io::Error::from)?;
    let user = user.ok_or_else(|| Failure::usage(format!("there is no user {name}")))?;
    let folder = tempfile::Builder::new().prefix("boxproof-matrix-").tempdir_in("/var/cache")?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let program = folder.path().join("boxproof");
    std::fs::copy(std::env::current_exe()?, &program)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let mut command = as_user(&program, &user);
    command.args(arguments(args)?);
    let output = command.output()?;
    match output.status.code() {
        // Whatever the verdicts are: a record that is not whole is refused where it is read.
        Some(0 | 1 | 3 | 4) => Ok(Ok(output.stdout)),
        Some(code @ 128..) => Ok(Err(code)),
        _ => Err(Failure::usage(format!("as {name}, boxproof run: {}", output.status))),
    }
}

fn as_user(program: &Path, user: &User) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", &user.dir)
        .env("USER", &user.name)
        .env("LOGNAME", &user.name)
        .current_dir("/")
        .uid(user.uid.as_raw())
        .gid(user.gid.as_raw())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .stdout(Stdio::piped());
    sys::end_with_parent(&mut command);
    command
}

fn arguments(args: &Args) -> Result<Vec<String>, Failure> {
    let mut words: Vec<String> =
        ["run", "--format", "ndjson", "--allow-missing"].map(str::to_owned).into();
    for spec in specs(args) {
        // Relative to where we are, which is not where the run is.
        let spec = if spec.contains('/') || spec.ends_with(".yaml") {
            absolute(Path::new(&spec))?
        } else {
            spec
        };
        words.extend(["--backend".to_owned(), spec]);
    }
    if args.cases.slow {
        words.push("--slow".to_owned());
    }
    for (flag, folder) in [("--cases", &args.cases.cases), ("--scratch", &args.scratch)] {
        if let Some(folder) = folder {
            words.extend([flag.to_owned(), absolute(folder)?]);
        }
    }
    words.push("--".to_owned());
    words.extend(args.cases.filters.iter().cloned());
    Ok(words)
}

fn absolute(path: &Path) -> Result<String, Failure> {
    let path: PathBuf = std::path::absolute(path)?;
    path.into_os_string().into_string().map_err(|path| {
        Failure::usage(format!("{}: not UTF-8, so that it cannot be passed on", path.display()))
    })
}
