//! The verb `run`: request → host → plan → mechanism → supervise → result, in that order.

mod caller;
mod denials;
mod exchange;
mod host_side;
mod live_stream;
mod local_host;
pub mod process;
mod reasons;
mod trial;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::Signal;

use boxproof_cases::protocol::{
    ClaimLevel, Command, ErrorKind, InferredGrants, Mode, Network, OnUnavailable, RunResult, Stdin,
};

use crate::claims::{self, HOST_PROC, claims};
use crate::control::LaunchSpec;
use crate::egress::{self, DeniedHost, ProxyServer};
use crate::error::Refusal;
use crate::explain::{self, EventJudge};
use crate::host::HostSnapshot;
use crate::mechanism::{InitInputs, mechanism};
use crate::plan::{self, Plan, ViewStep};
use crate::policy::MechanismName;
use crate::policy::orbit::{EventLines, GateEvent, GateEventKind, GateEventSink};
use crate::request::RunJob;
use crate::result::declined;
use crate::result::destination::FileDestination;
use crate::supervise::{
    self, OutputMode, RefusalFeed, RunBounds, RunOutcome, SecretValues, StdinSource, StreamEnds,
};
use crate::{control, result, sys};
use caller::CallerProcess;
use denials::{DenialCollector, RunDenials};
use live_stream::LiveStream;
pub(crate) use local_host::LocalHost;
use reasons::{blocked, closed, unreached_lines};
pub(crate) use trial::{effective, found};

/// Times a run is set up at most, because host sockets came or went meanwhile.
const ATTEMPTS: usize = 30;

/// The refusals during a run, as recorded by the components that refused.
#[derive(Debug, Default)]
pub(crate) struct KnownRefusals {
    /// The destinations that it was denied.
    pub(crate) unreached: Vec<DeniedHost>,
    /// The operations that it was refused.
    pub(crate) denials: RunDenials,
    /// Grants that gave it less than they say.
    pub(crate) notes: Vec<String>,
    /// Paths that protection covered beyond the names directly below the roots.
    pub(crate) held: Vec<PathBuf>,
    /// The packets that found no route out of its own network, if they were counted.
    pub(crate) refused_routes: Option<u32>,
}

/// A tried run: its outcome, its mechanism, and the reason why it did not start.
pub(crate) struct AttemptedRun {
    pub(crate) outcome: RunOutcome,
    pub(crate) mechanism: MechanismName,
    pub(crate) refusal: Option<Refusal>,
    /// The recorded refusals to the command.
    pub(crate) known: KnownRefusals,
    /// The host's processes are shown to the command.
    pub(crate) shows_host: bool,
}

impl AttemptedRun {
    /// Returns whether it was refused because this host allows no `/proc` of its own.
    fn lacks_proc(&self) -> bool {
        !self.outcome.started && self.refusal.as_ref().is_some_and(|refusal| refusal.lacks_proc)
    }
}

/// Runs the request in `request_file`, writes the result; returns the exit code.
pub(crate) fn run(
    prefix: &[&str],
    request_file: &Path,
    result_file: &Path,
    events_file: Option<&Path>,
) -> i32 {
    // First of all: the parent is the caller as long as that has not died.
    let caller = CallerProcess::observe();
    exchange::answer(request_file, result_file, |order| {
        let told = events_file.map_or(Ok(()), |file| tell_of(&order, file));
        let ready = told.and_then(|()| caller.tie(order)).and_then(|order| {
            be_the_only_one()?;
            Ok(order)
        });
        match ready {
            Ok(order) => carry(prefix, &order, request_file),
            Err(refusal) => declined(&refusal, request_file),
        }
    })
}

/// Writes down in `file` that the command is handed on under a profile, if it is under one; without
/// that it is not started.
fn tell_of(order: &RunJob, file: &Path) -> Result<(), Refusal> {
    exchange::within_reach("events", file, order)?;
    let wrong = |error: io::Error| Refusal::os(&format!("events to {}", file.display()), error);
    let lines = FileDestination::open(file).and_then(|place| place.create()).map_err(wrong)?;
    let Some(profile) = &order.profile else { return Ok(()) };
    let event = GateEvent {
        kind: GateEventKind::HarnessDelegated,
        profile: profile.clone(),
        op: None,
        path: shown_program(&order.run.command),
        allowed: true,
        matched_rule: String::new(),
    };
    EventLines(lines).emit(event).map_err(Refusal::setup)
}

/// Prepares a process that serves one run: its children are its own to reap, and a signal while the
/// result is written came too late.
fn be_the_only_one() -> Result<(), Refusal> {
    let reaped = sys::default_action(Signal::SIGCHLD);
    reaped.map_err(|error| Refusal::os("SIGCHLD", error))?;
    supervise::hold_signals().map_err(Refusal::setup)
}

/// Runs `request`; without a sandbox only if the policy says so and nothing has run yet.
fn carry(prefix: &[&str], order: &RunJob, file: &Path) -> (RunResult, i32) {
    for note in &order.notes {
        eprintln!("refbox: {note}");
    }
    let tried = attempt(prefix, order);
    let reason = match &tried {
        Err(refusal) => Some(refusal),
        Ok(AttemptedRun { outcome, refusal, .. }) if !outcome.started => refusal.as_ref(),
        Ok(_) => None,
    };
    let unavailable = reason.filter(|refusal| {
        let willing = order.policy.on_unavailable == OnUnavailable::RunUnconfined;
        match refusal.kind {
            _ if fault!("supervise.degraded-unasked") => true,
            ErrorKind::Unavailable => willing || order.lenient,
            ErrorKind::Unsupported => willing,
            _ => false,
        }
    });
    match (unavailable.cloned(), tried) {
        (Some(reason), _) => degraded(prefix, order, file, &reason),
        (None, Err(refusal)) => {
            let (result, code) = declined(&refusal, file);
            let blocked = result.blocked.map(|blocked| order.in_its_words(blocked));
            (RunResult { blocked, ..result }, code)
        }
        (None, Ok(tried)) => {
            let enforced = claims::enforced(tried.mechanism, order, tried.shows_host);
            let enforced =
                if fault!("supervise.nothing-enforced") { BTreeMap::new() } else { enforced };
            let inferred = order.inferred.clone();
            conclude(tried, order, file, RunEnforcement { enforced, inferred, warning: None })
        }
    }
}

fn degraded(prefix: &[&str], order: &RunJob, file: &Path, reason: &Refusal) -> (RunResult, i32) {
    let warning = format!("RUNNING WITHOUT A SANDBOX: {reason}");
    if !fault!("supervise.degraded-silent") {
        eprintln!("refbox: {warning}");
    }
    let host = HostSnapshot::observe(&order.policy, order.law.as_ref(), &order.run);
    let tried = Plan::unconfined(&order.policy, &order.run, &host)
        .and_then(|plan| carry_out(prefix, order, &plan, MechanismName::Unconfined, Vec::new()));
    match tried {
        Err(refusal) => declined(&refusal, file),
        Ok(tried) => {
            let nothing =
                claims(MechanismName::Namespaces).map(|(name, _)| (name.into(), ClaimLevel::None));
            let warning = (!fault!("supervise.degraded-unannotated")).then_some(warning);
            let enforcement =
                RunEnforcement { enforced: nothing.collect(), inferred: None, warning };
            conclude(tried, order, file, enforcement)
        }
    }
}

/// The members of a result that tell what held the command, should it have been started.
struct RunEnforcement {
    enforced: BTreeMap<String, ClaimLevel>,
    inferred: Option<InferredGrants>,
    /// The first annotation, of a command without a sandbox.
    warning: Option<String>,
}

/// Turns a tried run into the result, and prints the notes for its reader on stderr.
fn conclude(
    tried: AttemptedRun,
    order: &RunJob,
    file: &Path,
    enforcement: RunEnforcement,
) -> (RunResult, i32) {
    let AttemptedRun { outcome, mechanism, refusal, mut known, shows_host } = tried;
    // A caller that has died reads nothing any more.
    let line = result::annotation(&outcome).filter(|_| !order.run.capture && !outcome.abandoned);
    if let Some(line) = line {
        eprintln!("{line}");
    }
    if let Some(refusal) = &refusal {
        eprintln!("refbox: {refusal}");
    }
    let blocked = blocked(&outcome, mechanism, order, refusal.as_ref(), &known);
    known.denials.add_told(blocked.as_ref());
    known.denials.close();
    let (ended, code) = result::finished(outcome, mechanism.name(), refusal.as_ref(), file);
    let lacking = unreached_lines(&known.unreached, order).into_iter().chain(known.notes);
    let lacking: Vec<String> = lacking.collect();
    let closed = closed(order, mechanism, &ended).map(str::to_owned);
    if !order.run.capture {
        let failed = ended.exit_code != Some(0);
        let shown = lacking.iter().filter(|_| failed).chain(&closed);
        shown.for_each(|line| eprintln!("refbox: {line}"));
    }
    let RunEnforcement { enforced, inferred, warning } = enforcement;
    let notes = warning.into_iter().chain(order.notes.iter().cloned());
    let annotations = notes.chain(ended.annotations).chain(lacking).chain(closed);
    let host_proc = (shows_host && ended.started).then(|| HOST_PROC.to_owned());
    let result = RunResult {
        // Where nothing ran, nothing was enforced, and nothing granted.
        enforced: if ended.started { enforced } else { BTreeMap::new() },
        inferred: inferred.filter(|_| ended.started),
        refused_routes: known.refused_routes,
        blocked: blocked.map(|blocked| order.in_its_words(blocked)),
        events: known.denials.events,
        events_cut: known.denials.cut,
        annotations: annotations.collect(),
        limits: ended.limits.into_iter().chain(host_proc).collect(),
        ..ended
    };
    (result, code)
}

/// Plans and carries out, by the first mechanism that this host does not refuse.
pub(crate) fn attempt(prefix: &[&str], order: &RunJob) -> Result<AttemptedRun, Refusal> {
    if let Some(why) = &order.unavailable {
        return Err(Refusal::new(ErrorKind::Unavailable, why.clone()));
    }
    let candidates = candidates(order)?;
    let mut refused: Vec<String> = Vec::new();
    for (left, mechanism) in candidates.iter().enumerate().map(|(i, m)| (candidates.len() - i, m)) {
        let tried = persist(prefix, order, *mechanism);
        match unavailable(&tried) {
            Some(reason) if left > 1 => refused.push(reason),
            Some(reason) if !refused.is_empty() => {
                refused.push(reason);
                return Err(Refusal::new(ErrorKind::Unavailable, refused.join("; ")));
            }
            _ => return tried,
        }
    }
    Err(Refusal::new(ErrorKind::Unavailable, "no mechanism confines on this system"))
}

/// Returns the reason why this host refuses a mechanism, if it does.
fn unavailable(tried: &Result<AttemptedRun, Refusal>) -> Option<String> {
    let refusal = match tried {
        Err(refusal) => Some(refusal),
        Ok(tried) if tried.outcome.started => None,
        Ok(tried) => tried.refusal.as_ref(),
    };
    let refusal = refusal.filter(|refusal| refusal.kind == ErrorKind::Unavailable)?;
    Some(refusal.message.clone())
}

/// The mechanisms that the request allows, the preferred first.
fn candidates(order: &RunJob) -> Result<Vec<MechanismName>, Refusal> {
    let unconfined = order.policy.mode == Mode::Unconfined;
    match (MechanismName::named(&order.run.mechanism), unconfined) {
        (None, true) => Ok(vec![MechanismName::Unconfined]),
        (None, false) => Ok(MechanismName::AUTO.into()),
        (Some(MechanismName::Unconfined), false) => Err(Refusal::unsupported(
            "run.mechanism: unconfined enforces no step of this policy; use auto or namespaces",
        )),
        (Some(MechanismName::Unconfined), true) => Ok(vec![MechanismName::Unconfined]),
        (Some(confining), true) => Err(Refusal::unsupported(format!(
            "run.mechanism: {} does not run mode unconfined; use auto or unconfined",
            confining.name()
        ))),
        (Some(confining), false) => Ok(vec![confining]),
    }
}

/// Plans and carries out; again if the start failed while the host's sockets changed under it.
fn persist(
    prefix: &[&str],
    order: &RunJob,
    mechanism: MechanismName,
) -> Result<AttemptedRun, Refusal> {
    let mut host = HostSnapshot::observe(&order.policy, order.law.as_ref(), &order.run);
    for _ in 1..ATTEMPTS {
        let tried = once(prefix, order, &host, mechanism)?;
        if tried.lacks_proc() && !host.lacks_proc {
            host.lacks_proc = true;
            continue;
        }
        let failed = tried.refusal.as_ref().filter(|refusal| refusal.kind == ErrorKind::Setup);
        let Some(refusal) = failed.filter(|_| !tried.outcome.started) else { return Ok(tried) };
        let now = HostSnapshot::observe(&order.policy, order.law.as_ref(), &order.run);
        if now.sockets == host.sockets && !names_socket(&refusal.message, &host) {
            return Ok(tried);
        }
        host = HostSnapshot { lacks_proc: host.lacks_proc, ..now };
    }
    once(prefix, order, &host, mechanism)
}

/// Returns whether a failed start was about a socket; one of the same name may be there again.
fn names_socket(message: &str, host: &HostSnapshot) -> bool {
    host.sockets.iter().filter_map(|path| path.to_str()).any(|path| message.contains(path))
}

fn once(
    prefix: &[&str],
    order: &RunJob,
    host: &HostSnapshot,
    mechanism: MechanismName,
) -> Result<AttemptedRun, Refusal> {
    check_workspace(order, host)?;
    plan::refuse_contradictions(&order.policy, host)?;
    let plan = plan::resolve(&order.policy, &order.run, host)?;
    carry_out(prefix, order, &plan, mechanism, explain::held(&host.protected))
}

fn check_workspace(order: &RunJob, host: &HostSnapshot) -> Result<(), Refusal> {
    let workspace = order.policy.workspace.as_path();
    match host.at(workspace).is_some_and(|found| found.directory) {
        true => Ok(()),
        false => Err(Refusal::invalid(format!(
            "policy.workspace: {} is not an existing directory",
            workspace.display()
        ))),
    }
}

/// Carries out `plan`, step by step; `held` are the paths that protection covers in it.
fn carry_out(
    prefix: &[&str],
    order: &RunJob,
    plan: &Plan,
    name: MechanismName,
    held: Vec<PathBuf>,
) -> Result<AttemptedRun, Refusal> {
    let live = order.run.events_fd.map(LiveStream::open).transpose()?;
    let secrets = reasons::secrets(order);
    let explained_run = reasons::explained_run(order, &held, &secrets);
    let mut collector = DenialCollector::new(EventJudge::new(&explained_run), live);
    // Prepare: the mechanism's resources, then what goes to the inner stage, then our ends of it.
    let prepared = mechanism(name).prepare(order, plan)?;
    let plan = &*prepared.plan();
    let argv = prepared.argv(plan)?;
    let launch = LaunchSpec::new(prepared.containment(), &plan.cwd, &argv, &plan.env)?;
    let (ours, control) = control::pair().map_err(os)?;
    let (streams, kept) = plumb(order, plan).map_err(os)?;
    let way = plan.view.as_ref().and_then(|view| view.egress.as_ref());
    let (door, shut) = way.map(egress::prepare).transpose()?.unzip();
    let mediates = plan.view.as_ref().is_some_and(|view| !view.mediate.is_empty());
    let (told, ledger) = mediates.then(io::pipe).transpose().map_err(os)?.unzip();
    let ledger = ledger.map(OwnedFd::from);
    let inputs = InitInputs { launch: &launch, control, streams, door, ledger };
    // Start, once the supervisor listens for signals: the sandbox, then the proxy into it.
    let mut outlet = None;
    let start = || {
        let running = prepared.start(prefix, inputs)?;
        outlet = shut.map(egress::PreparedProxy::open).transpose().map_err(os)?;
        Ok(running)
    };
    // Supervise: to the end of all its processes.
    let mut heed = |notice| collector.take(&notice);
    let told = told.map(|pipe| RefusalFeed::new(OwnedFd::from(pipe).into(), &mut heed));
    let bounds = RunBounds {
        timeout: order.run.timeout_ms.map(Duration::from_millis),
        caller: order.caller.as_deref(),
        refusals: told.transpose().map_err(os)?,
    };
    let outcome = supervise::supervise(start, ours, kept, bounds);
    let (unreached, unkept) = outlet.map(ProxyServer::close).unwrap_or_default();
    let outcome = outcome?;
    collector.heed_hosts(&unreached, unkept);
    // Explain: why nothing was started, and what was refused to what was.
    let refusal = result::why_not(
        &outcome,
        &shown_program(&order.run.command),
        &launch.cwd_path(),
        |failure| prepared.explain(failure),
    );
    let steps = plan.view.iter().flat_map(|view| &view.steps);
    let shows_host = steps.into_iter().any(ViewStep::shows_host_processes);
    let own_network = order.policy.network != Network::Host {};
    let counted = outcome.unreached.filter(|_| own_network);
    let refused_routes = counted.map(|count| explain::refused_routes(count.routes, count.ports));
    let notes = plan.notes.clone();
    let (unreached, denials) = (distinct(unreached), collector.finish());
    let known = KnownRefusals { unreached, denials, notes, refused_routes, held };
    Ok(AttemptedRun { outcome, mechanism: name, refusal, known, shows_host })
}

/// Returns each of `denied` once.
fn distinct(denied: Vec<DeniedHost>) -> Vec<DeniedHost> {
    let mut kept: Vec<DeniedHost> = Vec::new();
    for one in denied {
        if !kept.iter().any(|other| other.destination == one.destination && other.why == one.why) {
            kept.push(one);
        }
    }
    kept
}

fn os(error: io::Error) -> Refusal {
    Refusal::os("preparing the command", error)
}

/// The command's streams, and our ends of them.
fn plumb(order: &RunJob, plan: &Plan) -> io::Result<([OwnedFd; 3], StreamEnds)> {
    let run = &order.run;
    let input = match &run.stdin {
        Stdin::Inherit => StdinSource::Inherit,
        Stdin::Null => StdinSource::Null,
        Stdin::BytesB64(text) => {
            StdinSource::Bytes(STANDARD.decode(text).map_err(io::Error::other)?)
        }
    };
    let output = match (run.capture, run.debug) {
        // Streams that are not captured are shown as they are.
        (false, _) => OutputMode::Inherit,
        (true, false) => OutputMode::Capture,
        (true, true) => {
            let known = sys::launcher_environment();
            OutputMode::CaptureAndShow(SecretValues::from_environment(
                known.iter().chain(&plan.env),
            ))
        }
    };
    supervise::plumb(input, output)
}

fn shown_program(command: &Command) -> String {
    command.to_argv().into_iter().next().unwrap_or_default()
}
