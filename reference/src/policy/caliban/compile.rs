//! The compilation of settings to the neutral policy and the run under it: [`order`]. Pure.

use std::path::Path;

use boxproof_cases::protocol::{
    Command, EnvBase, EnvPolicy, Mode, Policy, Readable, Run, SettingsPlatform, SourcePrecedence,
    Stdin, WirePath,
};

use super::bypass::bypassed_by;
use super::detect::SandboxAvailability;
use super::error::SettingsError;
use super::proxy;
use super::scrub;
use super::validate::ValidSettings;

/// System directories that every command may read, besides those of the platform.
const SYSTEM: [&str; 2] = ["/etc", "/opt"];
/// Directories of the platform.
const PLATFORM: [&str; 4] = ["/usr", "/bin", "/lib", "/lib64"];

/// The note on every failure while egress is blocked, independent of the cause, which is not known.
const CLOSED: &str = "network egress is blocked by the workspace sandbox; \
    network.allow_all_outbound = true opens it. Loopback is unaffected.";

/// A command, its run, and the facts of its session.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// The command and how it is run.
    pub run: &'a Run,
    /// The launcher's variables, as far as their names are text.
    pub names: &'a [String],
    /// Returns whether a path exists, and if so whether it is a directory.
    pub stands: &'a dyn Fn(&str) -> Option<bool>,
}

impl std::fmt::Debug for CommandContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commanded").field("run", self.run).finish_non_exhaustive()
    }
}

/// The compiled policy and run.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledSettings {
    /// The policy.
    pub policy: Policy,
    /// The run.
    pub run: Run,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The command runs unconfined where this host cannot confine it.
    pub lenient: bool,
    /// The note for a confined command that ends with a code of failure.
    pub on_failure: Option<String>,
}

/// The policy that `sound` comes to for one command.
///
/// # Errors
/// Where the settings grant nothing at the command's working directory, or only files.
pub fn order(
    sound: &ValidSettings,
    availability: &SandboxAvailability,
    commanded: CommandContext<'_>,
) -> Result<CompiledSettings, SettingsError> {
    let notes = sound.warnings(availability, SettingsPlatform::Linux);
    let line = shell_line(&commanded.run.command);
    let bypassed = line.and_then(|line| bypassed_by(sound.bypass(), line));
    match (availability, bypassed) {
        (SandboxAvailability::Active, None) => confined(sound, commanded, notes),
        (SandboxAvailability::Active, Some(pattern)) => {
            let note =
                format!("allow_unsandboxed_commands: {pattern:?} takes this out of the sandbox");
            let notes = notes.into_iter().chain([note]).collect();
            Ok(unconfined(sound, commanded, notes, true))
        }
        _ => Ok(unconfined(sound, commanded, notes, false)),
    }
}

/// Returns the line of a shell command: only such a command can be bypassed. Words behind the line
/// are parameters, which a bypassed line cannot name, as it has no `$`.
fn shell_line(command: &Command) -> Option<&str> {
    match command {
        Command::Shell(line) => Some(line),
        Command::Argv(argv) => match argv.as_slice() {
            [sh, c, line, ..] if (sh == "sh" || sh == "/bin/sh") && c == "-c" => Some(line),
            _ => None,
        },
    }
}

fn unconfined(
    sound: &ValidSettings,
    commanded: CommandContext<'_>,
    notes: Vec<String>,
    bypassed: bool,
) -> CompiledSettings {
    // A bypassed command keeps the whole environment, unless the settings are read under the ADR.
    let scrubs = bypassed
        && sound.reading == SourcePrecedence::Adr
        && !fault!("dialects.bypassed-keep-secrets");
    let env = if scrubs { environment(sound, commanded.names) } else { whole() };
    let run = Run { mechanism: "auto".to_owned(), ..commanded.run.clone() };
    let cwd = commanded.run.cwd.clone();
    let policy = Policy { mode: Mode::Unconfined, env, ..Policy::new(cwd.0) };
    CompiledSettings { policy, run, notes, lenient: false, on_failure: None }
}

fn confined(
    sound: &ValidSettings,
    commanded: CommandContext<'_>,
    mut notes: Vec<String>,
) -> Result<CompiledSettings, SettingsError> {
    let paths = &sound.paths;
    let mut granted =
        |list: &str, paths| {
            let (kept, passed_over) = grants(sound.reading, paths, commanded.stands);
            notes.extend(passed_over.iter().map(|path| {
                format!("filesystem.{list}: {path:?} does not exist, and grants nothing")
            }));
            kept
        };
    let mut read = granted("allow_read", &paths.allow_read);
    let mut written = granted("allow_write", &paths.allow_write);
    // The denial counts: a grant within it grants nothing.
    if !fault!("dialects.grants-in-read-denies") {
        read.retain(|path| !lies_in(path, &paths.deny_read));
        written.retain(|path| !lies_in(path, &paths.deny_read));
    }
    if !fault!("dialects.grants-in-write-denies") {
        read.extend(written.extract_if(.., |path| lies_in(path, &paths.deny_write)));
    }
    notes.extend(proxy::keeps_lists(&sound.network));
    require_visible(commanded.run.cwd.as_path(), read.iter().chain(&written))?;
    let (mode, workspace) = base(&written, commanded.stands)?;
    let wire = |list: &[String]| list.iter().map(WirePath::from).collect::<Vec<_>>();
    let policy = Policy {
        mode,
        readable: readable(&read, commanded.stands),
        writable: wire(&written),
        deny_read: if fault!("dialects.read-denies-lost") {
            Vec::new()
        } else {
            wire(&paths.deny_read)
        },
        deny_write: match fault!("dialects.write-denies-lost") {
            true => Vec::new(),
            false => wire(&paths.deny_write),
        },
        network: proxy::network(&sound.network),
        env: proxy::with_socks_proxy(&sound.network, environment(sound, commanded.names)),
        ..Policy::new(workspace)
    };
    let stdin = match fault!("dialects.stdin-inherited") {
        true => commanded.run.stdin.clone(),
        false => Stdin::Null,
    };
    let run = Run { stdin, ..commanded.run.clone() };
    let noted = sound.egress_denied() && !fault!("dialects.closed-egress-unnoted");
    let on_failure = noted.then(|| CLOSED.to_owned());
    let lenient = !sound.strict || fault!("dialects.always-lenient");
    Ok(CompiledSettings { policy, run, notes, lenient, on_failure })
}

/// Devices that every command has anyway, fresh; binding the host's would break some of them.
const DEVICES: [&str; 10] =
    ["null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "fd"];

/// Splits the grants into used and ignored ones. A missing path is ignored under [`SourcePrecedence::Head`];
/// under the ADR it is kept, and the plan makes it an error.
fn grants(
    reading: SourcePrecedence,
    paths: &[String],
    stands: &dyn Fn(&str) -> Option<bool>,
) -> (Vec<String>, Vec<String>) {
    let device =
        |path: &String| path.strip_prefix("/dev/").is_some_and(|name| DEVICES.contains(&name));
    let paths = paths.iter().filter(|path| !device(path)).cloned();
    paths.partition(|path| reading == SourcePrecedence::Adr || stands(path).is_some())
}

/// Returns whether `path` is one of `denied`, or lies below one.
fn lies_in(path: &str, denied: &[String]) -> bool {
    denied.iter().any(|denied| Path::new(path).starts_with(denied))
}

/// A command starts where it can see.
fn require_visible<'a>(
    cwd: &Path,
    mut granted: impl Iterator<Item = &'a String>,
) -> Result<(), SettingsError> {
    let system = SYSTEM.iter().chain(&PLATFORM).any(|root| cwd.starts_with(root));
    if system
        || cwd == Path::new("/")
        || fault!("dialects.cwd-without-grant")
        || granted.any(|root| cwd.starts_with(root))
    {
        return Ok(());
    }
    let why = format!(
        "filesystem grants nothing at the working directory {}; add it to allow_read or allow_write",
        cwd.display()
    );
    Err(SettingsError::config(why, None))
}

/// The directory that the neutral policy starts from: one that is granted anyway, so that the
/// session's workspace is granted no more than the settings say.
fn base<'a>(
    written: &'a [String],
    stands: &dyn Fn(&str) -> Option<bool>,
) -> Result<(Mode, &'a str), SettingsError> {
    // The plan reports a path that does not exist.
    let usable = written.iter().find(|path| stands(path) != Some(false));
    match (usable, written.first()) {
        (Some(directory), _) => Ok((Mode::WorkspaceWrite, directory)),
        // One that holds no program of ours, which would not be trusted there.
        (None, None) => Ok((Mode::ReadOnly, SYSTEM[0])),
        (None, Some(path)) => {
            let why = format!(
                "filesystem.allow_write: {path:?} is no directory, and neither is another one; name the directory it lies in"
            );
            Err(SettingsError::config(why, None))
        }
    }
}

/// Returns the paths that the system needs, and the granted ones.
fn readable(read: &[String], stands: &dyn Fn(&str) -> Option<bool>) -> Readable {
    if read.iter().any(|path| path == "/") {
        return Readable::All;
    }
    let system = SYSTEM.iter().filter(|path| stands(path).is_some());
    let system = system.map(|path| WirePath::from(*path));
    Readable::Only(system.chain(read.iter().map(WirePath::from)).collect())
}

/// Every name that is kept is listed: the policy's own idea of secrets is another one.
fn environment(sound: &ValidSettings, names: &[String]) -> EnvPolicy {
    if !sound.env.scrub_secrets || fault!("dialects.never-scrubbed") {
        return whole();
    }
    let kept = names.iter().filter(|name| scrub::keeps(name, &sound.env.passthrough));
    EnvPolicy { base: EnvBase::Clear, scrub: true, pass: kept.cloned().collect(), ..whole() }
}

fn whole() -> EnvPolicy {
    EnvPolicy { scrub: false, ..EnvPolicy::default() }
}
