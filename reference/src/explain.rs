//! The explanation of a failed run, where the sandbox is the cause ([`explain`]): the streams name
//! a refusal and a path, and the policy decides whether it refuses that. An operation that the
//! policy allows was not refused by the sandbox, even if the message says so. Pure but for reading
//! links.

pub(crate) mod advice;
mod analysis;
mod cause;
mod command_parser;
mod deciding_commands;
mod download;
mod errno_messages;
mod error_handlers;
mod event;
mod message;
mod network;
mod operation;
mod policy_index;
mod resolve_path;
pub(crate) mod rule;
mod script;
mod shell_functions;
mod shell_pattern;
mod silent_commands;
mod tokens;
mod unset_variable;

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{AlsoBlocked, Blocked, Command, Mode, Policy, Stage};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use nix::unistd::{AccessFlags, access};

use crate::control::ProcessFate;
use crate::egress::{self, DeniedHost};
use crate::host::ProtectedPaths;
use crate::policy::path_rules::PathRules;
use crate::policy::redact::{REDACTED_ENV, SHORTEST_SECRET, is_sensitive_env_name};
use advice::RuleDialect;
use analysis::FailureAnalysis;
use cause::FailureCause;
pub(crate) use event::{EventJudge, EventVerdict};
pub(crate) use resolve_path::HostLookup;
use rule::DenialRule;

/// The number of commands in a shell `line`.
pub(crate) fn count_commands(line: &str) -> usize {
    command_parser::commands(&Command::Shell(line.to_owned())).len()
}

/// The number of bytes that are read at either end of a stream.
const END: usize = 32 * 1024;
/// Characters of a reason at most.
const REASON: usize = 400;

/// A change of `place` that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedChange {
    pub(crate) place: PathBuf,
    pub(crate) errno: Errno,
    pub(crate) pid: Option<i32>,
    /// The name of that process.
    pub(crate) program: Option<String>,
    /// None where the kernel does not tell of the ends of processes.
    pub(crate) fate: Option<ProcessFate>,
    /// The exit status by which it became known to the shell that the command is.
    pub(crate) status: Option<i32>,
}

/// A process that had no route to an address; its members are those of a [`RefusedChange`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnroutedProcess {
    pub(crate) pid: Option<i32>,
    pub(crate) program: Option<String>,
    pub(crate) fate: Option<ProcessFate>,
    pub(crate) status: Option<i32>,
}

/// A run that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletedRun<'a> {
    pub(crate) policy: &'a Policy,
    /// The profile that the workspace is under.
    pub(crate) law: Option<&'a PathRules>,
    pub(crate) command: &'a Command,
    /// The line that the user typed, where the command is a rewritten form of it.
    pub(crate) original: Option<&'a str>,
    pub(crate) cwd: &'a Path,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// Empty where stdout was not captured.
    pub(crate) stdout: &'a [u8],
    /// None where stderr was not captured.
    pub(crate) stderr: Option<&'a [u8]>,
    /// Changes that were refused to the command, in their order.
    pub(crate) refused: &'a [RefusedChange],
    /// All calls that change something by a path were looked at.
    pub(crate) observed: bool,
    /// The processes that had no route to an address.
    pub(crate) unrouted: &'a [UnroutedProcess],
    /// Bound sockets of the host that the mechanism kept the command from.
    pub(crate) sockets: &'a [PathBuf],
    /// Paths that protection covers beyond the names directly below the roots.
    pub(crate) held: &'a [PathBuf],
    /// Packets that found no route out of the command's own network; none where they were not
    /// counted.
    pub(crate) refused_routes: Option<u32>,
    /// The language of its rules.
    pub(crate) dialect: RuleDialect,
    /// Set if root started the run: outside the sandbox it has all capabilities.
    pub(crate) root: bool,
    /// Values that must not be shown.
    pub(crate) secrets: &'a [String],
}

/// Returns all paths that `protected` covers, at any depth.
pub(crate) fn held(protected: &ProtectedPaths) -> Vec<PathBuf> {
    let there = protected.there.iter().map(|found| &found.real);
    let missing = protected.missing.iter().map(|missing| &missing.real);
    let links = protected.links.iter().map(|link| &link.real);
    there.chain(missing).chain(links).cloned().collect()
}

/// One denial: the rule, the operation and its object.
#[derive(Debug, Clone)]
struct RunDenial {
    rule: DenialRule,
    op: Option<&'static str>,
    path: Option<PathBuf>,
    what: Option<&'static str>,
}

/// Returns the explanation of the failure, if the sandbox is its cause.
pub(crate) fn explain(run: &CompletedRun<'_>, look: HostLookup<'_>) -> Option<Blocked> {
    let successful = run.exit_code == Some(0) && !fault!("explain.successes");
    if run.policy.mode == Mode::Unconfined || successful {
        return None;
    }
    if is_a_filtered_call(run) {
        let what = Some("a system call that it closes ended the command");
        return Some(describe_denial(
            &RunDenial { rule: DenialRule::RuntimeDenied, op: None, path: None, what },
            run.secrets,
        ));
    }
    run.exit_code?;
    let analysis = FailureAnalysis::new(run, look);
    Some(blocked_by(&analysis, &analysis.cause()?, run))
}

/// Returns the explanation of a command of which the program was not executed, if the policy closes it.
pub(crate) fn explain_unstarted(run: &CompletedRun<'_>, look: HostLookup<'_>) -> Option<Blocked> {
    let analysis = FailureAnalysis::new(run, look);
    let denial = analysis.unstarted()?;
    Some(blocked_by(&analysis, &FailureCause { denial, also: Vec::new() }, run))
}

fn blocked_by(
    analysis: &FailureAnalysis<'_>,
    cause: &FailureCause,
    run: &CompletedRun<'_>,
) -> Blocked {
    let FailureCause { denial, also } = cause;
    let also = also.iter().map(|denial| beside(denial, run.secrets)).collect();
    let action = hidden(run.dialect.action(&analysis.remedy(denial)), run.secrets);
    let suggested_action = Some(action).filter(|_| !fault!("explain.no-action"));
    Blocked { also, suggested_action, ..describe_denial(denial, run.secrets) }
}

/// Returns the number of packets that found no way out, by the kernel's counters: `routes` for
/// absent routes, and datagrams to closed `ports`, if every name server of the host is a loopback
/// address.
pub(crate) fn refused_routes(routes: u32, ports: u32) -> u32 {
    let servers = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let mut servers = servers.lines().filter_map(|line| line.strip_prefix("nameserver")).peekable();
    // Without a server this host itself is asked.
    let own = servers.all(|server| network::is_loopback(server.trim()));
    routes.saturating_add(if own { ports } else { 0 })
}

/// The values of `env` that must not be shown.
pub(crate) fn secrets<'a>(env: impl Iterator<Item = (&'a OsStr, &'a OsStr)>) -> Vec<String> {
    let hidden =
        env.filter(|(name, value)| is_sensitive_env_name(name) && value.len() >= SHORTEST_SECRET);
    let mut values: Vec<String> =
        hidden.map(|(_, value)| value.to_string_lossy().trim().to_owned()).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// This host.
pub(crate) const HOST: HostLookup<'static> = HostLookup {
    link: &|path| std::fs::read_link(path).ok(),
    text: &short_text,
    there: &|path| path.symlink_metadata().is_ok(),
    names: &names,
    runs: &|path| {
        path.metadata()
            .is_ok_and(|found| !found.is_file() || found.permissions().mode() & 0o111 != 0)
    },
    may_write: &|path| access(path, AccessFlags::W_OK).is_ok(),
    closed_to_root: &is_closed_to_root,
    listens: &network::listens,
    device: &|path| {
        let near = path.ancestors().find_map(|near| near.metadata().ok());
        near.map(|found| found.dev())
    },
};

/// Returns the names in `directory`, if they are not too many.
fn names(directory: &Path) -> Vec<String> {
    /// More than a shell's pattern is likely to stand for.
    const MOST: usize = 4096;
    let found = std::fs::read_dir(directory).into_iter().flatten().take(MOST).flatten();
    found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns whether mode and owner keep root from `path`, or from making it, where it has no capabilities. What
/// the kernel shows of itself has other rules.
fn is_closed_to_root(path: &Path) -> bool {
    const READ_WRITE: u32 = 6;
    const SEARCH: u32 = 1;
    let rights = |found: &std::fs::Metadata| match (found.uid(), found.gid()) {
        (0, _) => found.mode() >> 6,
        (_, 0) => found.mode() >> 3,
        _ => found.mode(),
    };
    let lacks = |found: &std::fs::Metadata, right: u32| rights(found) & right != right;
    let mut above = path.ancestors().skip(1).filter_map(|parent| parent.metadata().ok());
    let own = path.metadata().ok().or_else(|| path.parent()?.metadata().ok());
    ["/proc", "/sys", "/dev"].iter().any(|tree| path.starts_with(tree))
        || own.is_none_or(|found| lacks(&found, READ_WRITE))
        || above.any(|found| lacks(&found, SEARCH))
}

/// Returns what the plain file at `path` holds, if that is short. The text is only parsed. The command may
/// have put a FIFO or an endless file there, so that neither opening nor reading waits, and both are bounded.
fn short_text(path: &Path) -> Option<String> {
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let file = std::fs::File::options().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut text = String::new();
    file.take(script::LONGEST as u64 + 1).read_to_string(&mut text).ok()?;
    (text.len() <= script::LONGEST).then_some(text)
}

/// Returns whether the command died of SIGSYS, also where a shell reports it.
fn is_a_filtered_call(run: &CompletedRun<'_>) -> bool {
    let number = Signal::SIGSYS as i32;
    if fault!("explain.filtered-calls") {
        return false;
    }
    let shell = run.exit_code == Some(128 + number)
        && String::from_utf8_lossy(run.stderr.unwrap_or_default()).contains("Bad system call");
    run.signal == Some(number) || shell
}

/// Both ends of a long stream.
fn ends(bytes: &[u8]) -> String {
    if bytes.len() <= 2 * END {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let (head, tail) = (&bytes[..END], &bytes[bytes.len() - END..]);
    format!("{}\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
}

/// Explains a failure to reach the host that was `denied`.
pub(crate) fn unreached(denied: &DeniedHost, secrets: &[String]) -> Blocked {
    let DeniedHost { destination, why, remedy, .. } = denied;
    let own = network::is_loopback(destination);
    let destination = hidden(destination.clone(), secrets);
    let reason =
        short(format!("{destination} cannot be reached: {}.", hidden(why.clone(), secrets)));
    let action = match remedy {
        egress::HostRemedy::WithoutDeny(rule) => format!(
            "Take {rule} out of policy.network.domains.deny if this command should reach it."
        ),
        // A rule for it would open a service of the host's.
        egress::HostRemedy::Allow(rule) if own => format!(
            "Ask no proxy for a server that the command started itself: leave {} in no_proxy. Only for a service of the host, add {rule} to policy.network.domains.allow.",
            destination.rsplit_once(':').map_or(destination.as_str(), |(host, _)| host)
        ),
        egress::HostRemedy::Allow(rule) => {
            format!("Add {rule} to policy.network.domains.allow if this command should reach it.")
        }
    };
    Blocked {
        suggested_action: Some(hidden(action, secrets)),
        ..blocked(
            Stage::Runtime,
            DenialRule::NetworkRestricted,
            reason,
            Some("connect"),
            Some(destination),
        )
    }
}

/// Replaces the secrets in `text`.
pub(crate) fn hidden(text: String, secrets: &[String]) -> String {
    if fault!("explain.secrets-shown") {
        return text;
    }
    secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), REDACTED_ENV))
}

/// A reason, bounded.
fn short(mut reason: String) -> String {
    if let Some((end, _)) = reason.char_indices().nth(REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    reason
}

fn describe_denial(denial: &RunDenial, secrets: &[String]) -> Blocked {
    let hidden = |text: String| hidden(text, secrets);
    let path = match fault!("explain.parent-named") {
        true => denial.path.as_deref().and_then(Path::parent),
        false => denial.path.as_deref(),
    };
    let path = path.map(|path| hidden(path.to_string_lossy().into_owned()));
    let socket = path.as_ref().filter(|_| denial.op == Some("connect"));
    let socket = socket.map(|path| format!("the socket {path} of the host"));
    let what = socket.as_deref().or(path.as_deref()).or(denial.what).unwrap_or("a place");
    let reason = short(denial.rule.reason(what));
    let op = if fault!("explain.always-read") { Some("read") } else { denial.op };
    blocked(Stage::Runtime, denial.rule, reason, op, path)
}

fn beside(denial: &RunDenial, secrets: &[String]) -> AlsoBlocked {
    let path = denial.path.as_ref().map(|path| path.to_string_lossy().into_owned());
    AlsoBlocked {
        rule: denial.rule.rule_name().to_owned(),
        operation: denial.op.map(str::to_owned),
        path: path.map(|path| hidden(path, secrets).into()),
    }
}

fn blocked(
    stage: Stage,
    rule: DenialRule,
    reason: String,
    op: Option<&str>,
    path: Option<String>,
) -> Blocked {
    Blocked {
        stage,
        rule: rule.rule_name().to_owned(),
        operation: op.map(str::to_owned),
        path: path.map(Into::into),
        reason,
        suggested_action: Some(rule.action().to_owned()),
        also: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
