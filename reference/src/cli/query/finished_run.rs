//! `refbox explain`: whether the sandbox is why a finished run failed. The run is in a request, or
//! in options and a stream.

use std::io::Read;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{
    Blocked, Command, DocumentAnswer, ExplainRequest, Explanation, FinishedRun, Mode, Network,
    PROTOCOL, Policy, PolicyAnswer, Protect, WirePath, from_json,
};
use clap::{Args, ValueEnum};

use super::{NO, OutputFormat, YES};
use crate::explain::advice::RuleDialect;
use crate::explain::{self, CompletedRun};
use crate::host::ProtectedPaths;
use crate::result::destination::FileDestination;

pub(super) const EXAMPLES: &str = "\
Exit codes: 0 if the sandbox is not why the run failed, 1 if it is, 2 if there is no answer.
With --request the run is in a file: JSON with protocol, policy and finished.

Examples:
  refbox explain --workspace . --exit 1 --stderr err.txt -- touch /etc/x
  refbox explain --workspace . --protect --exit 128 --format json --stderr - -- git add .
  refbox explain --request request.json --result answer.json";

/// A run that is over.
#[derive(Debug, Args)]
pub(crate) struct FinishedRunArgs {
    /// The run: JSON with protocol, policy and finished
    #[arg(long, value_name = "FILE", requires = "result",
          conflicts_with_all = ["workspace", "exit", "command"])]
    request: Option<PathBuf>,
    /// The file for the answer to a request
    #[arg(long, value_name = "FILE", requires = "request")]
    result: Option<PathBuf>,
    /// The workspace, which was the working directory
    #[arg(long, value_name = "DIR", required_unless_present = "request")]
    workspace: Option<PathBuf>,
    /// The write access of the run
    #[arg(long, value_enum, default_value_t = WriteModeArg::Workspace)]
    mode: WriteModeArg,
    /// A further writable directory
    #[arg(long, value_name = "DIR")]
    writable: Vec<PathBuf>,
    /// A path that could not be read
    #[arg(long, value_name = "PATH")]
    deny_read: Vec<PathBuf>,
    /// Names that steer tools were protected
    #[arg(long)]
    protect: bool,
    /// A grant of the run, such as git_metadata_write
    #[arg(long, value_name = "NAME")]
    grant: Vec<String>,
    /// The host's network was shared
    #[arg(long)]
    host_network: bool,
    /// The exit code
    #[arg(long, value_name = "CODE", required_unless_present = "request")]
    exit: Option<i32>,
    /// Packets that found no way out of its own network, if they were counted
    #[arg(long, value_name = "COUNT")]
    refused_routes: Option<u32>,
    /// The captured stderr; `-` is this command's stdin
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// The format of the answer
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// The command of the run
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "request")]
    command: Vec<String>,
}

/// The write access of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WriteModeArg {
    /// The workspace and temporary directories
    Workspace,
    /// Temporary directories
    Nothing,
}

/// Answers; returns the exit code.
pub(super) fn explain(over: &FinishedRunArgs) -> Result<i32, String> {
    match (&over.request, &over.result) {
        (Some(request), Some(result)) => in_files(request, result),
        _ => {
            let request = asked(over)?;
            let blocked = conclude(&request);
            print(over.format, blocked.as_ref())?;
            Ok(code(blocked.as_ref()))
        }
    }
}

fn in_files(request: &Path, result: &Path) -> Result<i32, String> {
    let unwritable =
        |error: std::io::Error| format!("cannot write to {}: {error}", result.display());
    let place = FileDestination::open(result).map_err(unwritable)?;
    let shown = request.display();
    let text = std::fs::read(request).map_err(|error| format!("{shown}: {error}"))?;
    let request: ExplainRequest = from_json(&text).map_err(|error| format!("{shown}: {error}"))?;
    check(&request).map_err(|why| format!("{shown}: {why}"))?;
    let blocked = conclude(&request);
    let code = code(blocked.as_ref());
    let answer = DocumentAnswer::Explained(Explanation { blocked });
    place.write(&PolicyAnswer { protocol: PROTOCOL, answer }).map_err(unwritable)?;
    Ok(code)
}

fn check(request: &ExplainRequest) -> Result<(), String> {
    if request.protocol != PROTOCOL {
        let other = request.protocol;
        return Err(format!("protocol: {other} is not spoken here; ask with {PROTOCOL}"));
    }
    let paths =
        [("policy.workspace", &request.policy.workspace), ("finished.cwd", &request.finished.cwd)];
    match paths.iter().find(|(_, path)| !path.as_path().is_absolute()) {
        Some((name, _)) => Err(format!("{name}: it is no absolute path")),
        None => Ok(()),
    }
}

fn code(blocked: Option<&Blocked>) -> i32 {
    if blocked.is_some() { NO } else { YES }
}

fn conclude(request: &ExplainRequest) -> Option<Blocked> {
    let ExplainRequest { policy, finished, .. } = request;
    let own: Vec<_> = std::env::vars_os().collect();
    let own = own.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let set = policy.env.set.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
    let secrets = explain::secrets(own.chain(set));
    let roots = std::iter::once(&policy.workspace).chain(&policy.writable);
    let roots = roots.filter_map(|root| root.as_path().canonicalize().ok()).collect::<Vec<_>>();
    let protects = policy.protect == Protect::Metadata && policy.mode == Mode::WorkspaceWrite;
    let held = match protects {
        true => explain::held(&ProtectedPaths::observe(&roots, &policy.grants)),
        false => Vec::new(),
    };
    let run = CompletedRun {
        policy,
        law: None,
        command: &finished.command,
        original: finished.original_command.as_deref(),
        cwd: finished.cwd.as_path(),
        exit_code: finished.exit_code,
        signal: finished.signal,
        stdout: finished.stdout.as_bytes(),
        stderr: Some(finished.stderr.as_bytes()),
        refused: &[],
        observed: false,
        unrouted: &[],
        sockets: &[],
        refused_routes: finished.refused_routes,
        dialect: RuleDialect::Neutral,
        root: false,
        held: &held,
        secrets: &secrets,
    };
    explain::explain(&run, explain::HOST)
}

/// Builds the request from the options.
fn asked(over: &FinishedRunArgs) -> Result<ExplainRequest, String> {
    let whole = |path: &PathBuf| -> Result<WirePath, String> {
        let path =
            std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path.into())
    };
    let workspace = whole(over.workspace.as_ref().ok_or("name the workspace")?)?;
    let mut policy = Policy::new(workspace.clone());
    policy.mode = match over.mode {
        WriteModeArg::Workspace => Mode::WorkspaceWrite,
        WriteModeArg::Nothing => Mode::ReadOnly,
    };
    policy.writable = over.writable.iter().map(whole).collect::<Result<_, _>>()?;
    policy.deny_read = over.deny_read.iter().map(whole).collect::<Result<_, _>>()?;
    policy.protect = if over.protect { Protect::Metadata } else { Protect::None };
    policy.grants.clone_from(&over.grant);
    policy.network = if over.host_network { Network::Host {} } else { Network::None {} };
    let finished = FinishedRun {
        command: Command::Argv(over.command.clone()),
        original_command: None,
        cwd: workspace,
        exit_code: over.exit,
        signal: None,
        refused_routes: over.refused_routes,
        stdout: String::new(),
        stderr: over.stderr.as_deref().map_or(Ok(String::new()), stream)?,
    };
    Ok(ExplainRequest { protocol: PROTOCOL, policy, finished })
}

/// The number of bytes that are kept at either end of a stream: the rest is ignored.
const END: usize = 64 * 1024;

fn stream(file: &Path) -> Result<String, String> {
    let read = match file == Path::new("-") {
        true => ends(std::io::stdin().lock()),
        false => std::fs::File::open(file).and_then(ends),
    };
    let bytes = read.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Both ends of a stream, however long it is.
fn ends(mut from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    from.by_ref().take(END as u64).read_to_end(&mut head)?;
    let mut tail = Vec::new();
    while from.by_ref().take(END as u64).read_to_end(&mut tail)? > 0 {
        tail.drain(..tail.len().saturating_sub(END));
    }
    Ok([head, tail].concat())
}

fn print(format: OutputFormat, blocked: Option<&Blocked>) -> Result<(), String> {
    if format == OutputFormat::Json {
        let text = serde_json::to_string_pretty(&blocked).map_err(|error| error.to_string())?;
        crate::stdout::line(format_args!("{text}"));
        return Ok(());
    }
    let Some(blocked) = blocked else {
        crate::stdout::line(format_args!("not the sandbox"));
        return Ok(());
    };
    crate::stdout::line(format_args!("{}: {}", blocked.rule, blocked.reason));
    blocked
        .suggested_action
        .iter()
        .for_each(|action| crate::stdout::line(format_args!("{action}")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, repeat};

    #[test]
    fn of_a_long_stream_both_ends_are_kept() {
        let long = Cursor::new("begin").chain(repeat(0).take(1 << 30)).chain(Cursor::new("end"));
        let kept = ends(long).unwrap();
        assert_eq!(kept.len(), 2 * END);
        assert!(kept.starts_with(b"begin") && kept.ends_with(b"end"));
        assert_eq!(ends(Cursor::new("short")).unwrap(), b"short");
    }
}
