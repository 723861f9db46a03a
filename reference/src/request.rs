//! The request file: read, parsed with its location on error, and checked before anything starts.

pub(crate) mod caliban;
pub(crate) mod inferoa;
mod job;
mod member_line;
pub(crate) mod orbit;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boxproof_cases::protocol::{
    Command, EnvPolicy, EventScope, PROTOCOL, Policy, ProfileRequest, Readable, RunRequest,
    SettingsRunRequest, Stdin, WirePath, from_json,
};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use crate::error::{Refusal, utf8_text};
use crate::explain::advice::RuleDialect;
use crate::policy::caliban::HostInspector;
use crate::policy::path_glob::PathGlob;
use crate::policy::{AUTO, GRANTS, MechanismName};
use crate::request::caliban as caliban_request;

pub(crate) use job::{ProfileLocation, RunJob};
pub(crate) use member_line::located;

/// Reads and checks the request in `file`; settings that name a program have it inspected on `host`.
pub(crate) fn read(file: &Path, host: &dyn HostInspector) -> Result<RunJob, Refusal> {
    let unreadable =
        |error: io::Error| Refusal::invalid(format!("cannot read the request: {error}"));
    let (bytes, piped) = contents(file).map_err(unreadable)?;
    let text = utf8_text(bytes).map_err(|(line, _)| Refusal {
        line: Some(line),
        ..Refusal::invalid("cannot read the request: it is no UTF-8; save it as UTF-8")
    })?;
    // Editors put a mark in front of a text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut order = parse(text, host)?;
    check(&order)?;
    let run = &mut order.run;
    // An explanation is asked for, and what a hushed command failed of only the kernel can tell.
    if run.capture && !names_events(text)? {
        run.events = EventScope::All;
    }
    let by_agent = piped || run.parent_pid.is_some() || order.dialect != RuleDialect::Neutral;
    run.die_with_parent.get_or_insert(by_agent);
    Ok(order.with_inferred())
}

/// Returns what is in `file`, and whether it is a pipe or a socket.
fn contents(file: &Path) -> io::Result<(Vec<u8>, bool)> {
    let mut open = File::open(file)?;
    let kind = open.metadata()?.file_type();
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes)?;
    Ok((bytes, kind.is_fifo() || kind.is_socket()))
}

/// Parses a request of either kind, by its member `dialect`.
pub(crate) fn parse(text: &str, host: &dyn HostInspector) -> Result<RunJob, Refusal> {
    #[derive(Deserialize)]
    struct DialectField {
        dialect: Option<Value>,
    }
    let DialectField { dialect } = parsed(text)?;
    match dialect.as_ref().map(Value::as_str) {
        None => parsed::<RunRequest>(text).map(RunJob::from),
        Some(Some("caliban")) => {
            let request = parsed::<SettingsRunRequest>(text)?;
            caliban_request::job(&request, host)
        }
        Some(_) => parsed::<ProfileRequest>(text).and_then(RunJob::try_from),
    }
}

/// Returns whether the request `text` says itself which calls are looked at.
fn names_events(text: &str) -> Result<bool, Refusal> {
    #[derive(Deserialize)]
    struct RunMember {
        run: EventsMember,
    }
    #[derive(Deserialize)]
    struct EventsMember {
        events: Option<IgnoredAny>,
    }
    parsed::<RunMember>(text).map(|request| request.run.events.is_some())
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    from_json(text.as_bytes()).map_err(|error| {
        let line = Some(error.line as u64).filter(|line| *line > 0);
        Refusal { line, ..Refusal::invalid(format!("the request is not valid: {error}")) }
    })
}

/// Checks a request as far as possible without reading the host.
pub(crate) fn check(request: &RunJob) -> Result<(), Refusal> {
    if request.protocol != PROTOCOL && !fault!("supervise.any-protocol") {
        let spoken = request.protocol;
        return Err(Refusal::invalid(format!("protocol: {spoken} is unknown; use {PROTOCOL}")));
    }
    check_paths(&request.policy)?;
    absolute("run.cwd", &request.run.cwd)?;
    check_command(&request.run.command)?;
    check_env(&request.policy.env)?;
    check_stdin(&request.run.stdin)?;
    check_mechanism(&request.run.mechanism)?;
    if request.run.timeout_ms == Some(0) {
        return Err(Refusal::invalid("run.timeout_ms: 0 leaves no time; use null for no timeout"));
    }
    if request.run.parent_pid.is_some() && request.run.die_with_parent == Some(false) {
        return Err(Refusal::invalid(
            "run.parent_pid: names a process with which the run does not end; leave it out, or run.die_with_parent",
        ));
    }
    let unknown = request.policy.grants.iter().find(|grant| !GRANTS.contains(&&***grant));
    unknown.map_or(Ok(()), |grant| {
        let known = GRANTS.join(", ");
        Err(Refusal::unsupported(format!("policy.grants: {grant:?} is unknown; known: {known}")))
    })
}

fn check_paths(policy: &Policy) -> Result<(), Refusal> {
    absolute("policy.workspace", &policy.workspace)?;
    let readable = match &policy.readable {
        Readable::All => [].as_slice(),
        Readable::Only(roots) => roots.as_slice(),
    };
    let lists = [
        ("policy.readable", readable),
        ("policy.writable", &policy.writable),
        ("policy.deny_read", &policy.deny_read),
        ("policy.deny_write", &policy.deny_write),
        ("policy.reopen", &policy.reopen),
    ];
    lists
        .iter()
        .try_for_each(|(name, list)| list.iter().try_for_each(|path| absolute(name, path)))?;
    globs("policy.deny_read_globs", &policy.deny_read_globs)?;
    globs("policy.deny_write_globs", &policy.deny_write_globs)?;
    let abstracts =
        |path: &&WirePath| !path.as_path().as_os_str().as_encoded_bytes().starts_with(b"@");
    let sockets = policy.unix_sockets.iter().filter(abstracts);
    sockets.into_iter().try_for_each(|path| absolute("policy.unix_sockets", path))
}

fn globs(name: &str, globs: &[String]) -> Result<(), Refusal> {
    let read = |glob: &String| {
        PathGlob::parse(glob).map(drop).map_err(|why| Refusal::invalid(format!("{name}: {why}")))
    };
    globs.iter().try_for_each(read)
}

fn absolute(name: &str, path: &WirePath) -> Result<(), Refusal> {
    let path = path.as_path();
    match path.is_absolute() {
        true => Ok(()),
        false => Err(Refusal::invalid(format!(
            "{name}: {path:?} is not an absolute path; write it from / on, no variable is put in"
        ))),
    }
}

fn check_command(command: &Command) -> Result<(), Refusal> {
    match command {
        Command::Argv(argv) if argv.is_empty() => {
            Err(Refusal::invalid("run.command: argv is empty; name a program"))
        }
        _ => Ok(()),
    }
}

fn check_env(env: &EnvPolicy) -> Result<(), Refusal> {
    let bad = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    match env.pass.iter().chain(env.set.keys()).find(bad) {
        None => Ok(()),
        Some(name) => Err(Refusal::invalid(format!("policy.env: {name:?} is no variable name"))),
    }
}

fn check_stdin(stdin: &Stdin) -> Result<(), Refusal> {
    let Stdin::BytesB64(text) = stdin else { return Ok(()) };
    let bytes = STANDARD.decode(text);
    bytes.map(drop).map_err(|error| Refusal::invalid(format!("run.stdin: not base64: {error}")))
}

fn check_mechanism(name: &str) -> Result<(), Refusal> {
    if name == AUTO || MechanismName::named(name).is_some() {
        return Ok(());
    }
    let known = MechanismName::ALL.map(MechanismName::name).join(", ");
    Err(Refusal::invalid(format!("run.mechanism: {name:?} is unknown; known: {AUTO}, {known}")))
}

#[cfg(test)]
mod tests;
