//! The plan as a profile of Seatbelt, which `sandbox-exec` of macOS enforces around the command. A
//! harmless program is run under the profile first, so that a profile that macOS rejects is told
//! apart from a command that fails. Unverified: nothing of this has run on macOS yet.

mod private_directory;
pub(crate) mod profile;
mod profile_file;
mod profile_location;

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use boxproof_cases::protocol::{ClaimLevel, CompiledText, ErrorKind, TMP_PARAM};

use super::helper_program::is_program;
use super::temp_directory::TempDirectory;
use super::{InitInputs, Mechanism, PreparedRun, bounded_run, unconfined};
use crate::control::{CommandContainment, RunningSandbox};
use crate::error::{Refusal, unspawnable};
use crate::plan::Plan;
use crate::policy::caliban::ExtraOpenings;
use crate::request::RunJob;
use crate::{host, sys};

use profile_file::ProfileFile;

/// The path of the program on macOS. A search path could be led elsewhere.
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// The program that is run to test whether a profile is accepted; macOS and Linux have it.
const HARMLESS: &str = "/usr/bin/true";
/// The time limit of that test, in milliseconds.
const PATIENCE: u16 = 10_000;

static STAND_IN: OnceLock<PathBuf> = OnceLock::new();

/// Replaces `sandbox-exec` by `program` in this process. For tests: it confines nothing.
pub fn stand_in(program: PathBuf) {
    // The first one counts.
    let _first = STAND_IN.set(program);
}

/// Claims of a Seatbelt profile. No run on macOS has shown it yet, so that all of it is partial.
const PROFILED: [&str; 18] = [
    "fs.write",
    "fs.read_only",
    "fs.extra_write_roots",
    "fs.deny_write",
    "fs.read_deny",
    "fs.read_deny_in_writable",
    "fs.metadata",
    "fs.deny_absent",
    "fs.deny_glob",
    "fs.read_allowlist",
    "tmp.private",
    "protect.present",
    "protect.absent",
    "protect.nested",
    "protect.git_config_paths",
    "net.none",
    "net.host",
    "unix_socket.filter",
];

/// The program `sandbox-exec` of macOS.
pub(crate) struct SeatbeltMechanism;

impl Mechanism for SeatbeltMechanism {
    fn prepare<'a>(
        &self,
        job: &'a RunJob,
        plan: &'a Plan,
    ) -> Result<Box<dyn PreparedRun + 'a>, Refusal> {
        let view = super::view(plan)?;
        let program = program()?;
        let compiled = profile::profile(view, &job.policy, &ExtraOpenings::default())?;
        let CompiledText::Sbpl(text) = &compiled.text else {
            return Err(Refusal::setup("the policy was compiled to no profile"));
        };
        let parted = compiled.params.iter().any(|name| name == TMP_PARAM);
        let temp = parted.then(TempDirectory::make).transpose();
        let temp = temp.map_err(|error| Refusal::os("a temp directory for the command", error))?;
        let (directory, name) =
            profile_location::profile_location(job.profile_file.as_ref(), view)?;
        let profile = ProfileFile::write(directory, &name, text)
            .map_err(|error| Refusal::os("the profile's file", error))?;
        let prepared = SeatbeltRun { job, plan, program, profile, temp };
        prepared.is_taken(&plan.cwd)?;
        Ok(Box::new(prepared))
    }

    /// Mounts and namespaces do not exist under Seatbelt, with or without a profile.
    fn own_level(&self, claim: &str, boxed: bool) -> Option<ClaimLevel> {
        let partial = PROFILED.contains(&claim);
        boxed.then_some(if partial { ClaimLevel::Partial } else { ClaimLevel::None })
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "Unverified: no run on macOS has been reported yet.",
            "What a command leaves is found by its session, by who started it and by the variable REFBOX_RUN: a process that left the session, lost its parent and has none of it in an environment that macOS shows is not found.",
            "A SIGKILL to the inner stage leaves running the command and what it started; a stop from the terminal reaches a command as SIGSTOP.",
            "Host unix sockets are not listed, so that none is closed by name.",
            "The host's directories show where a policy gives fresh ones; what is closed is refused, not hidden.",
            "Who moves a directory to where a name in it would be a denied one closes what is in it; it is not undone.",
            "macOS takes the variables DYLD_* from every program that sandbox-exec starts.",
        ]
    }

    fn mediates(&self) -> bool {
        false
    }
}

/// The resources of one run: the program, the profile's file, and a temporary directory where the
/// policy gives one.
struct SeatbeltRun<'a> {
    job: &'a RunJob,
    plan: &'a Plan,
    program: PathBuf,
    profile: ProfileFile,
    temp: Option<TempDirectory>,
}

/// The program, where this system has one.
fn program() -> Result<PathBuf, Refusal> {
    let refuse = |message: String| Err(Refusal::new(ErrorKind::Unavailable, message));
    let program = match STAND_IN.get() {
        Some(program) => program.clone(),
        None if cfg!(target_os = "macos") => PROGRAM.into(),
        None => {
            return refuse(format!(
                "Seatbelt is part of macOS, and this is {}; use namespaces, bubblewrap or landlock",
                std::env::consts::OS
            ));
        }
    };
    match is_program(&program) {
        true => Ok(program),
        false => refuse(format!(
            "sandbox-exec is not available at {}: it is part of macOS, and no other is taken",
            program.display()
        )),
    }
}

impl PreparedRun for SeatbeltRun<'_> {
    fn plan(&self) -> Cow<'_, Plan> {
        TempDirectory::planned(self.temp.as_ref(), self.plan, self.job)
    }

    /// Returns the command with the wrapper's arguments before it. A missing program is reported
    /// here, as otherwise `sandbox-exec` would report it in other words.
    fn argv(&self, plan: &Plan) -> Result<Vec<String>, Refusal> {
        let command = self.job.run.command.to_argv();
        match host::cannot_execute(&self.job.run, &plan.env) {
            None => Ok(self.launcher_argv().into_iter().chain(command).collect()),
            Some(error) => {
                let program = command.into_iter().next().unwrap_or_default();
                Err(Refusal::new(ErrorKind::Spawn, unspawnable(&program, &error)))
            }
        }
    }

    fn containment(&self) -> CommandContainment {
        CommandContainment::Subreaper
    }

    /// Starts the inner stage beside this process; its command is the program.
    fn start(&self, _prefix: &[&str], inputs: InitInputs<'_>) -> Result<RunningSandbox, Refusal> {
        let lifeline = self.temp.as_ref().and_then(TempDirectory::lifeline);
        unconfined::start(&inputs.into_init()?.keeping(lifeline))
            .map_err(|error| Refusal::os("starting the command", error))
    }
}

impl SeatbeltRun<'_> {
    /// The words before the command.
    fn launcher_argv(&self) -> Vec<String> {
        let file = self.profile.path();
        let words = [self.program.as_path(), Path::new("-f"), &file];
        let mut words: Vec<String> = words.map(|word| word.display().to_string()).into();
        if let Some(temp) = &self.temp {
            words.extend(["-D".to_owned(), format!("{TMP_PARAM}={}", temp.path().display())]);
        }
        words.push("--".to_owned());
        words
    }

    /// Checks that macOS accepts the profile.
    fn is_taken(&self, cwd: &Path) -> Result<(), Refusal> {
        let os = |error| Refusal::os("asking sandbox-exec", error);
        let said = sys::memory_file(b"").map_err(os)?;
        let words = self.launcher_argv();
        let mut command = Command::new(&self.program);
        command.args(&words[1..]).arg(HARMLESS).current_dir(cwd).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(said.try_clone().map_err(os)?);
        let ended = bounded_run::ended(&mut command, PATIENCE).map_err(os)?;
        self.judged(ended, said)
    }

    fn judged(&self, ended: Option<ExitStatus>, said: File) -> Result<(), Refusal> {
        let program = self.program.display();
        match ended {
            Some(status) if status.success() => Ok(()),
            None => Err(Refusal::new(
                ErrorKind::Unavailable,
                format!("{program} does not come to an end: given up"),
            )),
            Some(status) => {
                let said =
                    bounded_run::text(said).map_err(|error| Refusal::os("sandbox-exec", error))?;
                Err(Refusal::setup(format!(
                    "{program} does not run {HARMLESS} under the profile ({status}): {}",
                    said.trim().replace('\n', "; ")
                )))
            }
        }
    }
}
