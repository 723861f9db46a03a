//! Running one arm: lay out, launch, watch, look from outside, clean up. The only place where
//! backends are executed. Main function: [`run_arm`].

mod command;
mod oracle;
mod private_ns;
mod render;
mod stream;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use boxproof_cases::Case;
use boxproof_cases::case::{Control, Step, Twin};
use boxproof_cases::protocol::{self, Policy, RunRequest, RunResult, Stdin};
use globset::{Glob, GlobSet, GlobSetBuilder};

pub use command::commandline;
pub use private_ns::{VERB as PRIVATE_NS_VERB, serve as serve_private_ns};
pub use render::{LATE, Rendered, RenderedStep, Unrendered, render, token};
use watch::{Verge, Watched, watch};

use crate::backend::{Backend, Kind, Launch, LaunchContext, LaunchError, Spawn};
use crate::execution::{Arm, ArmKind, BrokenStep, Exit, Observation, Report, RunReport};
use crate::sweep;
use crate::sys;
use crate::workspace::{Workspace, base_env};
use stream::{Streams, read_streams};

/// What every arm of a run shares.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The worker's own folder.
    pub folder: &'a Path,
    /// The probe program.
    pub probe: &'a Path,
    /// The run's word.
    pub run_id: &'a str,
    /// Who asked for the arm; when it hangs up, the arm is abandoned.
    pub boss: Option<BorrowedFd<'a>>,
}

/// Why an arm has no report.
enum Stop {
    Inexpressible(String),
    Fault(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Fault(why)
    }
}

/// Executes one arm of `case` and says what was seen. Nothing of it is left afterwards.
pub fn run_arm(case: &Case, kind: ArmKind, backend: &Backend, scene: &Scene<'_>) -> Arm {
    let mounts = sweep::mounts();
    let arm = attempt(case, kind, backend, scene, &mounts);
    sweep::kill_children(&[]);
    match arm {
        Ok(report) => Arm::Done(Box::new(report)),
        Err(Stop::Inexpressible(why)) => Arm::Inexpressible(why),
        Err(Stop::Fault(why)) => Arm::Fault(why),
    }
}

fn attempt(
    case: &Case,
    kind: ArmKind,
    backend: &Backend,
    scene: &Scene<'_>,
    mounts: &str,
) -> Result<Report, Stop> {
    let residue = residue(backend)?;
    let root = scene.folder.join("arm");
    let mut workspace = Workspace::lay_out(case, &root, scene.probe, scene.run_id)?;
    let before = oracle::Before::look(case, &workspace, mounts)?;
    let mut runner = Runner { case, kind, backend, scene, state: 0 };
    let started = Instant::now();
    let broken = runner.prelude(&mut workspace)?;
    let runs = match broken {
        Some(_) => Vec::new(),
        None => runner.judged(&mut workspace)?,
    };
    let duration_ms = started.elapsed().as_secs_f64() * 1000.0;
    let ours = workspace.victim.as_ref().map(|victim| victim.pid().cast_signed());
    // Scanning every process costs; the run ends with one scan for all cases.
    let suspects = case.asks_for_survivors().then_some(workspace.nonce.as_str());
    let survivors = sweep::survivors(ours.as_slice(), suspects);
    let mut after = before.compare(case, &mut workspace, &runs, &survivors);
    after.appeared.retain(|path| !residue.is_match(path));
    Ok(Report {
        nonce: workspace.nonce.clone(),
        runs: runs.into_iter().map(|streams| streams.report).collect(),
        broken,
        oracles: after.readings,
        tree: after.tree,
        appeared: after.appeared,
        leaks: after.leaks,
        duration_ms,
    })
}

/// What the backend may leave behind, by its manifest.
fn residue(backend: &Backend) -> Result<GlobSet, String> {
    let mut globs = GlobSetBuilder::new();
    if let Kind::Argv(manifest) = &backend.kind {
        for glob in &manifest.residue {
            globs.add(Glob::new(glob).map_err(|error| format!("residue: {error}"))?);
        }
    }
    globs.build().map_err(|error| format!("residue: {error}"))
}

/// Does the steps of one arm.
struct Runner<'a> {
    case: &'a Case,
    kind: ArmKind,
    backend: &'a Backend,
    scene: &'a Scene<'a>,
    /// How many launches there were; each has a state folder of its own.
    state: u32,
}

impl Runner<'_> {
    /// Every step but the last, up to one that failed and must not.
    fn prelude(&mut self, workspace: &mut Workspace) -> Result<Option<BrokenStep>, Stop> {
        let (_, prelude) = self.case.steps.split_last().ok_or("a case without steps".to_owned())?;
        for (at, step) in prelude.iter().enumerate() {
            let run = self.at_once(step, 1, workspace)?.swap_remove(0).report;
            if !step.may_fail && run.exit != Exit::Code(0) {
                return Ok(Some(BrokenStep { number: at + 1, run }));
            }
        }
        Ok(None)
    }

    /// The last step, as often and as many at once as the case says.
    fn judged(&mut self, workspace: &mut Workspace) -> Result<Vec<Streams>, Stop> {
        let step = self.case.steps.last().ok_or("a case without steps".to_owned())?;
        let mut runs = Vec::new();
        for _ in 0..self.case.repeat {
            runs.extend(self.at_once(step, self.case.parallel, workspace)?);
        }
        Ok(runs)
    }

    fn at_once(
        &mut self,
        step: &Step,
        count: u32,
        workspace: &mut Workspace,
    ) -> Result<Vec<Streams>, Stop> {
        let line = commandline(&step.act, &workspace.vars)?;
        let request = self.request(step, &line.argv, workspace)?;
        let mut launches = Vec::new();
        for _ in 0..count {
            launches.push(self.launch(&request, workspace)?);
        }
        let mut children = Vec::new();
        for launch in &launches {
            if let Launch::Spawn(spawn) = launch {
                children.push(self.spawn(spawn, workspace)?);
            }
        }
        let (started, unstarted): (Vec<_>, Vec<_>) = children.into_iter().partition(Result::is_ok);
        let mut children: Vec<Watched> = started.into_iter().flatten().collect();
        let verge = watch(&mut children, &mut workspace.listeners, self.scene.boss)
            .map_err(|error| format!("poll: {error}"))?;
        if verge == Verge::Abandoned {
            return Err(Stop::Fault("the run was ended".to_owned()));
        }
        let mut watched = children.into_iter();
        let mut ends = unstarted.into_iter().filter_map(Result::err);
        let mut runs = Vec::new();
        for launch in &launches {
            runs.push(match launch {
                Launch::Refuse { message } => Streams::refused(message),
                Launch::Spawn(spawn) => match watched.next() {
                    Some(child) => read_streams(child, spawn, line.records, (self.case, workspace)),
                    None => Streams::unstarted(ends.next().unwrap_or(Exit::Refused), line.records),
                },
            });
        }
        for launch in &launches {
            tear_down(launch)?;
        }
        Ok(runs)
    }

    fn request(
        &self,
        step: &Step,
        argv: &[String],
        workspace: &Workspace,
    ) -> Result<RunRequest, String> {
        let stdin = match &self.case.stdin {
            None => Stdin::Null,
            Some(text) => {
                let text = workspace.vars.expand(text).map_err(|e| e.to_string())?;
                Stdin::BytesB64(base64::engine::general_purpose::STANDARD.encode(text))
            }
        };
        let mut run = protocol::Run::new(protocol::Command::Argv(argv.to_vec()), workspace.ws());
        // The harness feeds stdin itself, so that every backend gets it the same way.
        let inherits = stdin != Stdin::Null || workspace.terminal.is_some();
        run.stdin = if inherits { Stdin::Inherit } else { Stdin::Null };
        Ok(RunRequest { protocol: protocol::PROTOCOL, policy: self.policy(step, workspace)?, run })
    }

    /// The policy of this arm: the step's own, or one grant wider.
    fn policy(&self, step: &Step, workspace: &Workspace) -> Result<Policy, String> {
        let spec = match (self.kind, &self.case.twin) {
            (ArmKind::Twin, Some(Twin::Overlay(over))) => step.policy.overlaid(over),
            _ => step.policy.clone(),
        };
        spec.resolve(&workspace.ws(), &workspace.vars).map_err(|error| error.to_string())
    }

    fn launch(&mut self, request: &RunRequest, workspace: &Workspace) -> Result<Launch, Stop> {
        self.state += 1;
        let state = workspace.state().join(self.state.to_string());
        std::fs::create_dir(&state).map_err(|e| format!("{}: {e}", state.display()))?;
        let env = self.launcher_env(workspace)?;
        if self.kind == ArmKind::Control || self.is_bare_in_namespace() {
            return Ok(Launch::Spawn(Box::new(self.unconfined(request, env)?)));
        }
        let home = workspace.vars.get("HOME").map(PathBuf::from).unwrap_or_default();
        let context = LaunchContext {
            state: &state,
            home: &home,
            uid: nix::unistd::geteuid().as_raw(),
            base_env: &env,
            request_file: &state.join("request.json"),
            result_file: &state.join("result.json"),
        };
        self.backend.launch(request, &context).map_err(|error| match error {
            LaunchError::Inexpressible(why) => Stop::Inexpressible(why),
            LaunchError::Manifest(why) => Stop::Fault(why),
        })
    }

    /// Whether "no sandbox" means the throw-away namespace: the act's object exists only in a box,
    /// and on the host the act could do harm.
    fn is_bare_in_namespace(&self) -> bool {
        self.case.control == Control::PrivateNs && matches!(self.backend.kind, Kind::Bare)
    }

    /// The control: the command as it is, or in a throw-away namespace.
    fn unconfined(
        &self,
        request: &RunRequest,
        env: BTreeMap<String, String>,
    ) -> Result<Spawn, String> {
        let command = request.run.command.to_argv();
        let argv = match self.case.control {
            Control::PrivateNs => {
                private_ns::wrap(self.scene.probe, &request.policy.deny_read, &command)
            }
            _ => command.into_iter().map(Into::into).collect(),
        };
        Ok(Spawn { argv, env, cwd: request.run.cwd.0.clone(), ..Spawn::default() })
    }

    fn launcher_env(&self, workspace: &Workspace) -> Result<BTreeMap<String, String>, String> {
        let mut env = base_env(&workspace.vars);
        for (name, value) in &self.case.launcher.env {
            let value = workspace.vars.expand(value).map_err(|e| e.to_string())?;
            env.insert(name.clone(), value);
        }
        Ok(env)
    }

    /// Starts one process; `Err(exit)` inside when the command itself cannot be executed.
    fn spawn(&self, spawn: &Spawn, workspace: &Workspace) -> Result<Result<Watched, Exit>, Stop> {
        prepare(spawn)?;
        let mut command = Command::new(&spawn.argv[0]);
        let feed = self.case.stdin.as_deref().map(|text| workspace.vars.expand(text));
        let feed = feed.transpose().map_err(|error| error.to_string())?;
        command
            .args(&spawn.argv[1..])
            .env_clear()
            .envs(&spawn.env)
            .current_dir(&spawn.cwd)
            .stdin(if feed.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        match &workspace.terminal {
            Some(terminal) => {
                command.stdin(terminal.stdin().map_err(|e| format!("terminal: {e}"))?);
                sys::own_terminal(&mut command);
            }
            // A session of its own is a group of its own already.
            None => drop(command.process_group(0)),
        }
        sys::inherit_descriptors(&mut command, self.descriptors(workspace)?);
        let timeout = Duration::from_millis(self.case.timeout_ms);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return self.unspawnable(spawn, &error).map(Err),
        };
        let feed = feed.unwrap_or_default().into_bytes();
        Watched::new(child, feed, timeout, &workspace.nonce, &self.case.during)
            .and_then(|mut watched| watched.stop_by(&spawn.stop).map(|()| watched))
            .map(Ok)
            .map_err(|error| Stop::Fault(format!("pipes: {error}")))
    }

    /// What a shell would answer, where there is nothing between us and the command.
    fn unspawnable(&self, spawn: &Spawn, error: &std::io::Error) -> Result<Exit, Stop> {
        let bare = self.kind == ArmKind::Control || matches!(self.backend.kind, Kind::Bare);
        match error.raw_os_error() {
            Some(libc::ENOENT) if bare => Ok(Exit::Code(protocol::exit::NOT_FOUND)),
            Some(libc::EACCES | libc::ENOEXEC) if bare => Ok(Exit::Code(protocol::exit::REFUSED)),
            _ => Err(Stop::Fault(format!("{}: {error}", spawn.argv[0].to_string_lossy()))),
        }
    }

    fn descriptors(&self, workspace: &Workspace) -> Result<Vec<(RawFd, OwnedFd)>, String> {
        let inherit = self.case.launcher.inherit.iter();
        inherit
            .map(|(number, inherit)| {
                let path = workspace.place(&inherit.path)?;
                let file = File::options().read(true).write(inherit.write).open(&path);
                let file =
                    file.map_err(|e| format!("inherit {number}: {}: {e}", path.display()))?;
                Ok((number.cast_signed(), OwnedFd::from(file)))
            })
            .collect()
    }
}

fn prepare(spawn: &Spawn) -> Result<(), String> {
    for (path, content) in &spawn.files {
        let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        parent
            .and_then(|()| std::fs::write(path, content))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    spawn.set_up.iter().try_for_each(|argv| step(argv, spawn))
}

fn tear_down(launch: &Launch) -> Result<(), String> {
    let Launch::Spawn(spawn) = launch else { return Ok(()) };
    spawn.tear_down.iter().try_for_each(|argv| step(argv, spawn))
}

fn step(argv: &[std::ffi::OsString], spawn: &Spawn) -> Result<(), String> {
    let Some((program, args)) = argv.split_first() else { return Ok(()) };
    let output = Command::new(program)
        .args(args)
        .env_clear()
        .envs(&spawn.env)
        .current_dir(&spawn.cwd)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program.to_string_lossy()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{}: {}: {said}", program.to_string_lossy(), output.status))
}

/// The native result at `path`, if there is to be one.
fn read_result(path: Option<&PathBuf>) -> Result<Option<RunResult>, String> {
    let Some(path) = path else { return Ok(None) };
    let text = std::fs::read(path).map_err(|error| format!("no result was written: {error}"))?;
    let result = serde_json::from_slice::<RunResult>(&text)
        .map_err(|error| format!("the result is not of the protocol: {error}"))?;
    match result.protocol {
        protocol::PROTOCOL => Ok(Some(result)),
        other => Err(format!("the result speaks protocol {other}")),
    }
}

/// What the probe reported on these streams.
fn observe(nonce: &str, records: bool, out: &[u8], err: &[u8]) -> Observation {
    use boxproof_probes::Found;
    if !records {
        return Observation::NotExpected;
    }
    match (boxproof_probes::find(nonce, out), boxproof_probes::find(nonce, err)) {
        (Found::None, Found::None) => Observation::Missing,
        (Found::One(record), Found::None) | (Found::None, Found::One(record)) => {
            Observation::Seen(record)
        }
        (Found::Malformed, _) | (_, Found::Malformed) => {
            Observation::Untrusted("a line under our nonce is no record".to_owned())
        }
        _ => Observation::Untrusted("several records under our nonce".to_owned()),
    }
}

impl RunReport {
    fn bare(exit: Exit) -> Self {
        Self {
            exit,
            stdout: Default::default(),
            stderr: Default::default(),
            observation: Observation::Missing,
            ready: false,
            result: None,
            result_fault: None,
            special: None,
        }
    }
}
