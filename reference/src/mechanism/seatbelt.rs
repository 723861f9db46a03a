//! The plan as a profile of Seatbelt, which `sandbox-exec` of macOS enforces around the command. A
//! harmless program is run under the profile first, so that a profile that macOS rejects is told
//! apart from a command that fails. Unverified: nothing of this has run on macOS yet.

mod private_directory;
pub(crate) mod profile;
mod profile_file;
mod profile_location;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use boxproof_cases::protocol::{CompiledText, ErrorKind, TMP_PARAM};

use super::temp_directory::TempDirectory;
use super::{bounded_run, unconfined};
use crate::control::RunningSandbox;
use crate::error::{Refusal, unspawnable};
use crate::init::SandboxInit;
use crate::plan::{Plan, View};
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

/// The resources of one run: the program, the profile's file, and a temporary directory where the
/// policy gives one.
pub(crate) struct PreparedSeatbelt {
    program: PathBuf,
    profile: ProfileFile,
    temp: Option<TempDirectory>,
}

/// Prepares the resources for `view`, before anything is started.
pub(crate) fn prepare(
    view: &View,
    order: &RunJob,
    plan: &Plan,
) -> Result<PreparedSeatbelt, Refusal> {
    let program = program()?;
    let compiled = profile::profile(view, &order.policy, &ExtraOpenings::default())?;
    let CompiledText::Sbpl(text) = &compiled.text else {
        return Err(Refusal::setup("the policy was compiled to no profile"));
    };
    let parted = compiled.params.iter().any(|name| name == TMP_PARAM);
    let temp = parted.then(TempDirectory::make).transpose();
    let temp = temp.map_err(|error| Refusal::os("a temp directory for the command", error))?;
    let (directory, name) = profile_location::profile_location(order.profile_file.as_ref(), view)?;
    let profile = ProfileFile::write(directory, &name, text)
        .map_err(|error| Refusal::os("the profile's file", error))?;
    let prepared = PreparedSeatbelt { program, profile, temp };
    prepared.is_taken(&plan.cwd)?;
    Ok(prepared)
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
    match super::is_program(&program) {
        true => Ok(program),
        false => refuse(format!(
            "sandbox-exec is not available at {}: it is part of macOS, and no other is taken",
            program.display()
        )),
    }
}

impl PreparedSeatbelt {
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

    /// The command's temp directory.
    pub(super) fn temp(&self) -> Option<&TempDirectory> {
        self.temp.as_ref()
    }

    /// Returns the command with the wrapper's arguments before it. A missing program is reported
    /// here, as otherwise `sandbox-exec` would report it in other words.
    pub(super) fn argv(&self, order: &RunJob, plan: &Plan) -> Result<Vec<String>, Refusal> {
        let command = order.run.command.to_argv();
        match host::cannot_execute(&order.run, &plan.env) {
            None => Ok(self.launcher_argv().into_iter().chain(command).collect()),
            Some(error) => {
                let program = command.into_iter().next().unwrap_or_default();
                Err(Refusal::new(ErrorKind::Spawn, unspawnable(&program, &error)))
            }
        }
    }

    /// Starts the inner stage beside this process; its command is the program.
    pub(crate) fn start(&self, inner: SandboxInit<'_>) -> Result<RunningSandbox, Refusal> {
        let lifeline = self.temp.as_ref().and_then(TempDirectory::lifeline);
        unconfined::start(&inner.keeping(lifeline))
            .map_err(|error| Refusal::os("starting the command", error))
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
