//! Running one arm: lay out, launch, watch, look from outside, clean up. The only place where
//! backends are executed. Main function: [`run_arm`].

mod captured_streams;
mod command;
mod config_files;
mod disk;
mod double;
mod held_file;
mod launcher;
mod moments;
mod oracle;
mod private_ns;
pub mod query;
mod render;
mod report;
mod residue;
mod spawn;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod transient_names;
mod unasked;
mod unconfined;
mod watch;
mod watched_child;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine as _;
use boxproof_cases::Case;
use boxproof_cases::case::{CalibanSpec, CaseStep, PolicySpec, StdinFrom, TtyStream, Twin};
use boxproof_cases::protocol::{self, Policy, RunRequest, Stdin};

pub use command::{StepCommand, commandline};
use config_files::PlacedFiles;
use disk::DiskBound;
pub use launcher::{VERB as LAUNCHER_VERB, serve as serve_launcher};
pub use private_ns::{VERB as PRIVATE_NS_VERB, serve as serve_private_ns};
pub use render::{LATE, RenderError, RenderedArm, RenderedStep, render, render_question, token};
pub use watch::SETTLED;
use watch::{WatchInputs, WatchOutcome, watch};
use watched_child::WatchedChild;

use crate::arm_context::ArmContext;
use crate::backend::{Backend, BackendKind, DoubleReply, LaunchContext, LaunchError, LaunchPlan};
use crate::execution::{ArmKind, ArmRecord, ArmReport, BrokenStep, ProcessExit, RunReport};
use crate::names::ArmNames;
use crate::shortage;
use crate::sweep::{self, Baseline, RunSurvivors, SharedObjects, Traces};
use crate::workspace::{ArmWorkspace, base_env};
use steps::StepBounds;
use stream::{RawStreams, read_streams};
use transient_names::TransientNames;

/// The reason for an arm to have no report.
enum ArmError {
    Inexpressible(String),
    Fault(String),
}

impl From<String> for ArmError {
    fn from(why: String) -> Self {
        Self::Fault(why)
    }
}

/// Executes one arm of `case`, which plays no receipts channel, and says what was seen. Nothing of it is left afterwards.
pub fn run_arm(
    case: &Case,
    kind: ArmKind,
    backend: &Backend,
    context: &ArmContext<'_>,
) -> ArmRecord {
    let arm = attempt(case, kind, backend, context);
    sweep::kill_children(&[]);
    match arm {
        Ok(report) => ArmRecord::Done(Box::new(report)),
        Err(ArmError::Inexpressible(why)) => ArmRecord::Inexpressible(why),
        Err(ArmError::Fault(why)) => ArmRecord::Fault(why),
    }
}

fn attempt(
    case: &Case,
    kind: ArmKind,
    backend: &Backend,
    context: &ArmContext<'_>,
) -> Result<ArmReport, ArmError> {
    let residue = residue::residue_globs(backend)?;
    if let Some(why) = unasked::reason(case, kind, backend) {
        return Err(ArmError::Inexpressible(why.to_owned()));
    }
    let root = context.directory.join(ArmNames::for_run(context.run_id).root);
    let mut workspace = ArmWorkspace::lay_out(case, &root, context.probe, context.run_id)?;
    let baseline = baseline(case, &workspace);
    let mounts = (baseline.mounts.as_str(), context.own_mounts);
    let before = oracle::HostBefore::observe_host(case, &workspace, mounts)?;
    let uid = nix::unistd::geteuid().as_raw();
    let shared = SharedObjects::before_arm();
    let transient = TransientNames::watch(case, (kind, &baseline), &workspace)?;
    let mut runner =
        Runner { case, kind, backend, context, uid, state: 0, stalled: Cell::default() };
    let limits = shortage::LimitCounters::read();
    let started = Instant::now();
    let broken = runner.prelude(&mut workspace)?;
    let runs = match broken {
        Some(_) => Vec::new(),
        None => runner.judged(&mut workspace)?,
    };
    let duration_ms = started.elapsed().as_secs_f64() * 1000.0;
    let reports: Vec<&RunReport> =
        runs.iter().map(|run| &run.report).chain(broken.iter().map(|step| &step.run)).collect();
    let mut shortages = shortage::of_arm(workspace.root(), limits, &reports);
    shortages.extend(shortage::of_time(runner.stalled.get()));
    let survivors = look_for_survivors(case, &workspace, &baseline)?;
    let mut after = before.compare(case, &mut workspace, &runs, &survivors);
    transient.mark(&mut after.readings, &runs);
    after.appeared.retain(|path| !residue.is_match(path));
    after.tree.retain(|path, _| after.laid.contains_key(path) || !residue.is_match(path));
    let nonce = workspace.nonce.clone();
    after.leaks.extend(workspace.remove());
    Ok(ArmReport {
        strays: shared.appeared(&nonce),
        nonce,
        runs: runs.into_iter().map(|streams| streams.report).collect(),
        broken,
        oracles: after.readings,
        tree: after.tree,
        laid: after.laid,
        appeared: after.appeared,
        leaks: after.leaks,
        outlasting: Vec::new(),
        shortages,
        spoilt: after.spoilt,
        unseen: after.unseen,
        distrust: None,
        duration_ms,
    })
}

/// Returns the processes that are there once the fixture is laid out and prepared.
fn baseline(case: &Case, workspace: &ArmWorkspace) -> Baseline {
    let ours = workspace.victim.as_ref().map(|victim| victim.pid().cast_signed());
    match case.prepare {
        Some(_) => Baseline::with_helpers(ours.as_slice()),
        None => Baseline::without_helpers(),
    }
}

/// Finds the processes and sockets of the arm that are still there; kills the processes.
fn look_for_survivors(
    case: &Case,
    workspace: &ArmWorkspace,
    baseline: &Baseline,
) -> Result<RunSurvivors, String> {
    let ours = workspace.victim.as_ref().map(|victim| victim.pid().cast_signed());
    // Scanning every process costs; the run ends with one scan for all cases.
    let word = case.asks_for_survivors().then_some(workspace.nonce.as_str());
    let heartbeat = case.heartbeat();
    let heartbeat = heartbeat.map(|file| workspace.place(file).map(|place| (file, place)));
    let heartbeat = heartbeat.transpose()?;
    let traces = Traces { ours: ours.as_slice(), baseline: Some(baseline), word, heartbeat };
    let mut found = sweep::survivors(&traces);
    let mut own: Vec<String> = ["UNIX", "DGRAM", "SEQPACKET", "ABSTRACT", "ABSTRACT_DGRAM"]
        .iter()
        .filter_map(|name| workspace.vars.get(name).map(str::to_owned))
        .collect();
    own.extend_from_slice(&baseline.sockets);
    let root = workspace.root().to_string_lossy().into_owned();
    found.sockets = sweep::sockets_named(&[&workspace.nonce, &root], &own);
    Ok(found)
}

/// Does the steps of one arm.
struct Runner<'a> {
    case: &'a Case,
    kind: ArmKind,
    backend: &'a Backend,
    context: &'a ArmContext<'a>,
    /// The user that the backend runs as.
    uid: u32,
    /// The number of launches; each has a state directory of its own.
    state: u32,
    /// The longest time for which the worker did not run although it should have.
    stalled: Cell<Duration>,
}

impl Runner<'_> {
    /// Runs every step but the last, up to one that failed and must not.
    fn prelude(&mut self, workspace: &mut ArmWorkspace) -> Result<Option<BrokenStep>, ArmError> {
        let (_, prelude) = self.case.steps.split_last().ok_or("a case without steps".to_owned())?;
        for (at, step) in prelude.iter().enumerate() {
            let run = self.at_once(step, 1, workspace)?.swap_remove(0).report;
            if !step.may_fail && run.exit != ProcessExit::Code(0) {
                return Ok(Some(BrokenStep { number: at + 1, run }));
            }
        }
        Ok(None)
    }

    /// The last step, as often and as many at once as the case says.
    fn judged(&mut self, workspace: &mut ArmWorkspace) -> Result<Vec<RawStreams>, ArmError> {
        let step = self.case.steps.last().ok_or("a case without steps".to_owned())?;
        let mut runs = Vec::new();
        for _ in 0..self.case.repeat {
            runs.extend(self.at_once(step, self.case.parallel, workspace)?);
        }
        Ok(runs)
    }

    fn at_once(
        &mut self,
        step: &CaseStep,
        count: u32,
        workspace: &mut ArmWorkspace,
    ) -> Result<Vec<RawStreams>, ArmError> {
        let line = commandline(&step.act, &workspace.vars, workspace.names())?;
        if let Some(double) = self.backend.double().filter(|double| self.plays(*double, &line)) {
            let played = |_| double::play(double, &line, (self.case, workspace));
            return Ok((0..count).map(played).collect());
        }
        let request = self.request(step, &line.argv, workspace)?;
        let mut launches = Vec::new();
        for _ in 0..count {
            launches.push(self.launch(step, &request, workspace)?);
        }
        let mut placed = Vec::new();
        let runs = self.run_all(&launches, line.records, workspace, &mut placed);
        // In every case, and even if the run itself failed.
        let torn_down = steps::tear_down(&launches, self.bounds());
        let runs = runs?;
        torn_down?;
        Ok(runs)
    }

    /// Returns whether `double` gives its answer instead of running `line`.
    fn plays(&self, double: DoubleReply, line: &StepCommand) -> bool {
        let forbids = self.case.expect.decision.is_negative();
        match double.runs() {
            true => self.kind == ArmKind::Confined && forbids && line.is_marked,
            false => self.kind != ArmKind::Control,
        }
    }

    /// Returns the bounds of each command that prepares or clears up.
    fn bounds(&self) -> StepBounds<'_> {
        let patience = Duration::from_millis(self.case.timeout_ms);
        StepBounds { patience, boss: self.context.boss }
    }

    /// Starts every launch at once and watches all to their end.
    fn run_all(
        &self,
        launches: &[LaunchPlan],
        records: bool,
        workspace: &mut ArmWorkspace,
        placed: &mut Vec<PlacedFiles>,
    ) -> Result<Vec<RawStreams>, ArmError> {
        let (mut children, mut places) = (Vec::new(), Vec::new());
        for launch in launches {
            if let LaunchPlan::Spawn(spawn) = launch {
                placed.push(steps::prepare(spawn, self.bounds(), placed)?);
                places.extend(steps::result_place(spawn)?);
                children.push(self.spawn(spawn, workspace)?);
            }
        }
        let (started, unstarted): (Vec<_>, Vec<_>) = children.into_iter().partition(Result::is_ok);
        let mut children: Vec<WatchedChild> = started.into_iter().flatten().collect();
        self.watch(&mut children, workspace)?;
        let mut watched = children.into_iter();
        let mut ends = unstarted.into_iter().filter_map(Result::err);
        let run = |launch: &LaunchPlan| match launch {
            LaunchPlan::Refuse { message } => RawStreams::refused(message),
            LaunchPlan::Spawn(spawn) => match watched.next() {
                Some(child) => {
                    let place = places.iter().find(|p| Some(p.path()) == spawn.result.as_deref());
                    read_streams(child.into(), (spawn, place), records, (self.case, workspace))
                }
                None => RawStreams::unstarted(ends.next().unwrap_or(ProcessExit::Refused), records),
            },
        };
        Ok(launches.iter().map(run).collect())
    }

    /// Watches `children` to their end; their output on the terminal is a stream of theirs.
    fn watch(
        &self,
        children: &mut [WatchedChild],
        workspace: &mut ArmWorkspace,
    ) -> Result<(), ArmError> {
        let from = workspace.terminal.as_ref().map_or(0, |terminal| terminal.shown().len());
        let disk = DiskBound::new(workspace.root());
        let mut around = WatchInputs {
            listeners: &mut workspace.listeners,
            terminal: workspace.terminal.as_mut(),
            boss: self.context.boss,
            settled: false,
            stalled: Duration::ZERO,
            disk,
        };
        let verge = watch(children, &mut around).map_err(|error| format!("poll: {error}"))?;
        self.stalled.set(self.stalled.get().max(around.stalled));
        match verge {
            WatchOutcome::Done => {}
            WatchOutcome::Abandoned => return Err(ArmError::Fault("the run was ended".to_owned())),
            WatchOutcome::Overfull => return Err(ArmError::Fault(self.overfull())),
        }
        if let (Some(terminal), Some(child)) = (&mut workspace.terminal, children.first_mut()) {
            terminal.drain_output().map_err(|error| format!("terminal: {error}"))?;
            let shown = terminal.shown()[from..].to_vec();
            if self.case.launcher.on_terminal(TtyStream::Stdout) {
                child.out = shown;
            } else if self.case.launcher.on_terminal(TtyStream::Stderr) {
                child.err = shown;
            }
        }
        Ok(())
    }

    fn overfull(&self) -> String {
        let name = &self.backend.name;
        format!(
            "an arm of `{name}` was ended, as it had more than {} MiB on disk",
            disk::BOUND >> 20
        )
    }

    fn request(
        &self,
        step: &CaseStep,
        argv: &[String],
        workspace: &ArmWorkspace,
    ) -> Result<RunRequest, String> {
        let spec = &self.case.run;
        let mut run = protocol::Run::new(protocol::Command::Argv(argv.to_vec()), workspace.ws());
        // The harness feeds stdin itself, so that every backend gets it the same way.
        let has_stdin = self.case.stdin.is_some()
            || self.case.launcher.hold_stdin
            || self.case.launcher.on_terminal(TtyStream::Stdin);
        run.stdin = match spec.stdin {
            None if has_stdin => Stdin::Inherit,
            None | Some(StdinFrom::Nowhere) => Stdin::Null,
            Some(StdinFrom::Launcher) => Stdin::Inherit,
            Some(StdinFrom::Request) => Stdin::BytesB64(base64(&self.stdin(workspace)?)),
        };
        run.original_command.clone_from(&spec.original);
        (run.timeout_ms, run.capture, run.debug) = (spec.timeout_ms, spec.capture, spec.debug);
        (run.die_with_parent, run.events_fd) = (spec.die_with_parent, spec.events_fd);
        run.events = spec.events.unwrap_or_default();
        Ok(RunRequest {
            protocol: protocol::PROTOCOL,
            policy: self.policy_of(self.kind, step, workspace)?,
            run,
        })
    }

    /// The text that the case has for stdin.
    fn stdin(&self, workspace: &ArmWorkspace) -> Result<String, String> {
        let text = self.case.stdin.as_deref().unwrap_or_default();
        workspace.vars.expand(text).map_err(|error| error.to_string())
    }

    /// The policy of an arm: the step's own, or one grant wider.
    fn policy_of(
        &self,
        kind: ArmKind,
        step: &CaseStep,
        workspace: &ArmWorkspace,
    ) -> Result<Policy, String> {
        let spec = self.spec_of(kind, step);
        spec.resolve(&workspace.ws(), &workspace.vars).map_err(|error| error.to_string())
    }

    /// Returns the policy of `step` in this arm, as the case writes it.
    fn spec(&self, step: &CaseStep) -> PolicySpec {
        self.spec_of(self.kind, step)
    }

    fn spec_of(&self, kind: ArmKind, step: &CaseStep) -> PolicySpec {
        match (kind, &self.case.twin) {
            (ArmKind::Twin, Some(Twin::Overlay(over))) => step.policy.overlaid(over),
            _ => step.policy.clone(),
        }
    }

    /// The settings of this arm, where the case has some.
    fn settings(
        &self,
        step: &CaseStep,
        workspace: &ArmWorkspace,
    ) -> Result<Option<(protocol::Document, protocol::SourcePrecedence)>, String> {
        let Some(caliban) = self.spec(step).caliban else { return Ok(None) };
        let text = workspace.vars.expand(&caliban.settings).map_err(|error| error.to_string())?;
        Ok(Some((CalibanSpec::document(text), caliban.reading)))
    }

    fn launch(
        &mut self,
        step: &CaseStep,
        request: &RunRequest,
        workspace: &ArmWorkspace,
    ) -> Result<LaunchPlan, ArmError> {
        self.state += 1;
        let state = workspace.state().join(self.state.to_string());
        std::fs::create_dir(&state).map_err(|e| format!("{}: {e}", state.display()))?;
        let env = self.launcher_env(workspace)?;
        if self.kind == ArmKind::Control || self.is_bare_in_namespace() {
            return Ok(LaunchPlan::Spawn(Box::new(self.unconfined(request, env)?)));
        }
        if let Some(why) = self.unsaid_twin(step, request, workspace)? {
            return Err(ArmError::Inexpressible(why));
        }
        let documents = self.spec(step).documents();
        let settings = self.settings(step, workspace)?;
        if let Some(why) = self.only_native(documents.is_some() || settings.is_some()) {
            return Err(ArmError::Inexpressible(why));
        }
        let run = &self.case.run;
        let place = |named: &Option<String>, name: &str| match named {
            Some(path) => workspace.place(path),
            None => Ok(state.join(name)),
        };
        let home = workspace.vars.get("HOME").map(PathBuf::from).unwrap_or_default();
        let context = LaunchContext {
            state: &state,
            home: &home,
            uid: self.uid,
            probe: self.context.probe,
            unprotects: unasked::unprotects(self, (step, request), workspace)?,
            base_env: &env,
            documents: documents.as_ref(),
            settings: settings.as_ref().map(|(document, reading)| (document, *reading)),
            request_file: &place(&run.request, "request.json")?,
            result_file: &place(&run.result, "result.json")?,
        };
        self.backend.launch(request, &context).map_err(|error| match error {
            LaunchError::Inexpressible(why) => ArmError::Inexpressible(why),
            fault @ LaunchError::Manifest { .. } => ArmError::Fault(fault.to_string()),
        })
    }

    /// Returns the reason why the twin of this arm cannot be asked, where the manifest says nothing of
    /// what makes it wider: a denial without that would pass with no proof that it can be lifted.
    fn unsaid_twin(
        &self,
        step: &CaseStep,
        request: &RunRequest,
        workspace: &ArmWorkspace,
    ) -> Result<Option<String>, String> {
        if self.kind != ArmKind::Confined {
            return Ok(None);
        }
        let policy = self.policy_of(ArmKind::Twin, step, workspace)?;
        Ok(self.backend.unsaid(&RunRequest { policy, ..request.clone() }))
    }

    /// Names the feature of the case that only a native request can express, if it has one.
    fn only_native(&self, documents: bool) -> Option<String> {
        let run = &self.case.run;
        let places = run.places().next().is_some();
        let asks = run.capture || places || !matches!(run.stdin, None | Some(StdinFrom::Launcher));
        let by_argv = matches!(self.backend.kind, BackendKind::Argv(_));
        let deaf = by_argv || matches!(self.backend.kind, BackendKind::Bare);
        // Documents mean nothing to those who confine nothing.
        let why = match (asks && deaf, documents && by_argv) {
            (true, _) => "capture, stdin and files are asked for by a native request",
            (_, true) => "documents are handed over by a native request",
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn launcher_env(&self, workspace: &ArmWorkspace) -> Result<BTreeMap<String, String>, String> {
        let mut env = base_env(&workspace.vars, workspace.names());
        let marked = (!workspace.names().ordinary).then(|| workspace.nonce.clone());
        env.extend(marked.map(|nonce| (sweep::ARM_VARIABLE.to_owned(), nonce)));
        for (name, value) in &self.case.launcher.env {
            let value = workspace.vars.expand(value).map_err(|e| e.to_string())?;
            env.insert(name.clone(), value);
        }
        Ok(env)
    }
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}
