//! One run from plan to rows: plan, execute, judge, collect. Main function: [`conduct`].

mod second_look;
mod watch;

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use boxproof_cases::{Case, FrozenSet, Suite};
use boxproof_reports::{CaseRow, Header, UserKind, Verdict};
use nix::sys::signal::{Signal, kill};

use crate::backend::Backend;
use crate::blind::Share;
use crate::collect;
use crate::execution::{Arm, Execution};
use crate::host::{Host, Tools};
use crate::judge::{Judgement, Reason, judge};
use crate::known::{Date, Os, Setting};
use crate::plan::{Plan, PlanOptions, Planned, plan};
use crate::pool::{self, Ended, PoolProgress};
use crate::probe::InstalledProbe;
use crate::run::question::{Desk, ask_all};
use crate::schedule::{Order, is_whole};
use crate::scratch::{self, Scratch};
use crate::selection::Selection;
use crate::shortage;
use crate::strays;
use crate::termination::{self, Termination};
use crate::worker::Birthright;
use crate::{sweep, sys};
pub(crate) use second_look::BlindLooks;

pub use watch::RunWatch;
use watch::{Cut, Live};

/// The request for a run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The corpus.
    pub suite: Suite,
    /// The selected cases of it.
    pub selection: Selection,
    /// Against which backends.
    pub backends: Vec<Backend>,
    /// True if cases are run even where the backend does not claim what they need.
    pub all: bool,
    /// True if failures below `must` count; recorded in the header.
    pub strict: bool,
    /// The number of CPU-bound arms in flight; by default twice the cores.
    pub jobs: Option<usize>,
    /// The directory in which the scratch directory is made; by default the user's cache directory.
    pub scratch: Option<PathBuf>,
    /// The frozen set by which cases are held.
    pub set: Option<FrozenSet>,
    /// The commit that is judged; told in the header.
    pub commit: Option<String>,
    /// The URL of the corpus's files; by default that of the built-in corpus.
    pub base_url: Option<String>,
    /// The share of the cases that get a second look with ordinary names and programs.
    pub blind: Option<Share>,
    /// The flags of a reproduce line besides case and backend, such as `--cases DIR`.
    pub reproduce: String,
}

/// The conclusion of a run.
#[derive(Debug)]
pub enum Conclusion {
    /// Header and rows of the record, in the suite's order.
    Finished(Box<Finished>),
    /// This signal came first: header, and rows of what was judged until then.
    Interrupted(Signal, Box<Finished>),
}

/// A finished run, before it is written down.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Provenance.
    pub header: Header,
    /// One row a case and backend.
    pub rows: Vec<CaseRow>,
    /// Known-failure rows that should not be there any more, one sentence each.
    pub stale: Vec<String>,
    /// The cause that ended the run before its end; then rows are missing.
    pub interrupted: Option<String>,
}

/// The judgements of a run: (case, backend) → observation and conclusion.
pub(crate) type Judged = HashMap<(usize, usize), (Execution, Judgement)>;

/// The observations and conclusions, try by try.
#[derive(Debug, Default)]
pub struct Tries {
    /// The last try of every pair.
    pub last: Judged,
    /// The first try of those that were tried again.
    pub earlier: Judged,
}

/// Starts the tools that the selected cases ask for.
pub fn tools_for(suite: &Suite, selection: &Selection) -> Tools {
    let selected = suite.cases.iter().filter(|case| selection.selects(case));
    Tools::among(&selected.flat_map(|case| case.host.iter().copied()).collect())
}

/// Plans, executes, judges and collects. `tools` are those of [`tools_for`], started as early as
/// possible; `watch` follows the run. Call before any thread exists: workers are forked.
///
/// # Errors
/// A scratch directory, probe or worker that cannot be made, or a system on which the leftovers of
/// a run cannot be seen.
pub fn conduct(
    request: &Request,
    tools: Tools,
    watch: &mut impl RunWatch,
) -> io::Result<Conclusion> {
    sweep::check_sight()?;
    // Until nothing is left to clean up.
    let termination = Termination::catch()?;
    sys::subreaper()?;
    sys::deny_tracing()?;
    let started = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let base = request.scratch.clone().unwrap_or_else(scratch::default_base);
    shortage::before_scratch()?;
    let scratch = Scratch::make(&base)?;
    shortage::before_run(&scratch.path, scratch::program_size())?;
    for warning in shortage::warnings() {
        eprintln!("boxproof: {warning}");
    }
    let host = Host::detect(&scratch.path, tools);
    let options = PlanOptions { all: request.all };
    let plan = plan(&request.suite, &request.selection, &request.backends, &host, options);
    let user = if host.uid == 0 { UserKind::Root } else { UserKind::Ordinary };
    let setting = |backend: &Backend| Setting {
        os: Os::HERE,
        user,
        version: backend.version.clone(),
        today: Date::today(),
    };
    let header = collect::header(request, &plan, &host, started);
    let row = |pair, seen: (&Execution, &Judgement)| collect::row(request, pair, seen, &setting);
    let mut live = Live { watch, row: &row, told: HashSet::new() };
    let (mut tries, cut) = execute(request, &plan, &scratch, &mut live)?;
    drop(scratch);
    let (looks, cut) = match cut {
        None => looked_again(request, &mut tries, live.watch)?,
        Some(_) => (BlindLooks::new(), cut),
    };
    let cut = termination.release().map(Cut::Signal).or(cut);
    let mut rows = collect::rows(request, &plan, (&tries, &looks), &setting);
    let mut stale = Vec::new();
    match cut {
        Some(_) => collect::keep_judged(request, &mut rows, &tries.last),
        None => stale = collect::stale(request, &rows, &setting),
    }
    let interrupted = cut.map(|cut| match cut {
        Cut::Signal(signal) => signal.to_string(),
        Cut::Unwanted => "--fail-fast".to_owned(),
    });
    let finished = Box::new(Finished { header, rows, stale, interrupted });
    Ok(match cut {
        Some(Cut::Signal(signal)) => Conclusion::Interrupted(signal, finished),
        _ => Conclusion::Finished(finished),
    })
}

/// Takes the second look, where it is asked for; returns its results, and the cause that ended it
/// before its end.
fn looked_again(
    request: &Request,
    tries: &mut Tries,
    watch: &mut impl RunWatch,
) -> io::Result<(BlindLooks, Option<Cut>)> {
    let Some(share) = request.blind else { return Ok((BlindLooks::new(), None)) };
    let mut progress = |done, total| watch.arms(done, total);
    let looks = second_look::look_again(request, share, &mut tries.last, &mut progress)?;
    Ok(looks.map_or_else(|cut| (BlindLooks::new(), Some(cut)), |looks| (looks, None)))
}

/// Executes and judges every planned pair; a pair that is worth it gets one more try, alone.
fn execute(
    request: &Request,
    plan: &Plan,
    scratch: &Scratch,
    live: &mut Live<'_, impl RunWatch>,
) -> io::Result<(Tries, Option<Cut>)> {
    let probe = InstalledProbe::remember(scratch.install_probe()?)?;
    let pairs: Vec<(usize, usize)> = plan
        .cases
        .iter()
        .filter(|planned| planned.what == Planned::Run)
        .map(|planned| (planned.case, planned.backend))
        .collect();
    let cases: Vec<_> = request.suite.cases.iter().cloned().map(Arc::new).collect();
    let (mut judged, mut earlier) = (Judged::new(), Judged::new());
    let mut slots = request.jobs.unwrap_or_else(default_jobs);
    let (questions, pairs): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|(case, _)| cases[*case].question().is_some());
    let desk = Desk { scratch: &scratch.path, probe: &probe.path, run_id: &scratch.run_id, slots };
    let replies = match ask_backends(&desk, (&cases, &request.backends), &questions, scratch) {
        Ok(replies) => replies,
        Err(signal) => return Ok((Tries { last: judged, earlier }, Some(Cut::Signal(signal)))),
    };
    let mut order = Order::new(cases.clone(), request.backends.clone(), &pairs);
    judge_all(&order, replies, &mut judged);
    if live.all(&judged).is_break() {
        return Ok((Tries { last: judged, earlier }, Some(Cut::Unwanted)));
    }
    let again =
        |pairs: &[(usize, usize)]| Order::new(cases.clone(), request.backends.clone(), pairs);
    let mut runner = Runner { scratch, probe, renewals: 0 };
    for last in [false, true] {
        if let Some(cut) = runner.run(order, slots, live, &mut judged)? {
            return Ok((Tries { last: judged, earlier }, Some(cut)));
        }
        let pairs = retried_pairs(request, &judged);
        if pairs.is_empty() || last {
            break;
        }
        earlier.extend(pairs.iter().filter_map(|pair| Some((*pair, judged.get(pair)?.clone()))));
        slots = abreast(pairs.len());
        order = again(&pairs).alone();
    }
    let suspected = strays::suspected(&judged);
    if !suspected.is_empty() {
        let order = again(&suspected).confirming_strays();
        let go_on = |_: PoolProgress<'_>| ControlFlow::Continue(());
        match runner.seen(&order, 1, go_on)? {
            Ended::Complete(seen) => strays::convict(&order, seen, &mut judged),
            Ended::Cut(signal, _) => {
                return Ok((Tries { last: judged, earlier }, Some(Cut::of(signal))));
            }
        }
    }
    Ok((Tries { last: judged, earlier }, None))
}

/// Returns the pairs of `judged` that are executed once more. A double runs nothing, so that another
/// try shows the same.
fn retried_pairs(request: &Request, judged: &Judged) -> Vec<(usize, usize)> {
    let is_double = |pair: &(usize, usize)| request.backends[pair.1].double().is_some();
    judged
        .iter()
        .filter(|(pair, seen)| !is_double(pair) && is_worth_another(seen))
        .map(|(pair, _)| *pair)
        .collect()
}

/// Asks the backends, one after the other: none is to write another one's answers. The signal that
/// ended it, if one did.
fn ask_backends(
    desk: &Desk<'_>,
    (cases, backends): (&[Arc<Case>], &[Backend]),
    questions: &[(usize, usize)],
    scratch: &Scratch,
) -> Result<Seen, Signal> {
    let mut replies = HashMap::new();
    for backend in 0..backends.len() {
        let own: Vec<_> = questions.iter().filter(|(_, of)| *of == backend).copied().collect();
        replies.extend(ask_all(desk, (cases, backends), &own));
        sweep::kill_children(&[scratch.janitor.as_raw()]);
        if let Some(signal) = termination::received() {
            return Err(signal);
        }
    }
    Ok(replies)
}

/// Executes orders on one scratch directory, with one probe.
struct Runner<'a> {
    scratch: &'a Scratch,
    probe: InstalledProbe,
    /// The number of times that the probe was installed anew.
    renewals: usize,
}

impl Runner<'_> {
    /// Executes and judges `order`, part by part; returns the cause that ended it before its end,
    /// if there is one.
    fn run(
        &mut self,
        order: Order,
        slots: usize,
        live: &mut Live<'_, impl RunWatch>,
        judged: &mut Judged,
    ) -> io::Result<Option<Cut>> {
        let total = order.jobs.len();
        let (mut done, mut seen) = (0, HashMap::new());
        for part in order.parts() {
            self.renew()?;
            let progress = |now: PoolProgress<'_>| {
                live.watch.arms(done + now.done, total);
                now.touched.iter().try_for_each(|pair| {
                    let Some(arms) = now.seen.get(pair) else { return ControlFlow::Continue(()) };
                    live.seen((*pair, &part.cases[pair.0]), seen.get(pair), arms)
                })
            };
            match self.seen(&part, slots, progress)? {
                Ended::Complete(arms) => merge(&mut seen, arms),
                Ended::Cut(signal, arms) => {
                    merge(&mut seen, arms);
                    seen.retain(|pair, execution| is_whole(&part.cases[pair.0], execution));
                    judge_all(&part, seen, judged);
                    return Ok(Some(Cut::of(signal)));
                }
            }
            done += part.jobs.len();
            judge_all(&part, whole(&mut seen), judged);
            find_survivors(&self.scratch.run_id, judged);
        }
        Ok(None)
    }

    /// Executes the arms of `order`.
    fn seen(
        &self,
        order: &Order,
        slots: usize,
        progress: impl FnMut(PoolProgress<'_>) -> ControlFlow<()>,
    ) -> io::Result<Ended> {
        let birthright = Birthright {
            order,
            scratch: &self.scratch.path,
            probe: &self.probe,
            run_id: &self.scratch.run_id,
            janitor: self.scratch.janitor,
        };
        pool::run(&birthright, slots, progress)
    }

    /// Installs the probe anew, elsewhere, if what was executed so far has changed it.
    fn renew(&mut self) -> io::Result<()> {
        if self.probe.change().is_some() {
            self.renewals += 1;
            let path = self.scratch.install_probe_in(&format!("probe-{}", self.renewals))?;
            self.probe = InstalledProbe::remember(path)?;
        }
        Ok(())
    }
}

type Seen = HashMap<(usize, usize), Execution>;

/// Puts what was seen in one part beside what was seen before.
fn merge(seen: &mut Seen, arms: Seen) {
    for (pair, arms) in arms {
        let before = seen.remove(&pair).unwrap_or_default();
        seen.insert(pair, together(before, arms));
    }
}

/// The arms of both; those of `now` where both have one.
fn together(before: Execution, now: Execution) -> Execution {
    Execution {
        control: now.control.or(before.control),
        twin: now.twin.or(before.twin),
        confined: now.confined.or(before.confined),
        ..before
    }
}

/// Takes out the executions of which every arm has been seen: the confined one is of the last part.
fn whole(seen: &mut Seen) -> Seen {
    seen.extract_if(|_, execution| execution.confined.is_some()).collect()
}

/// Returns whether a second try could mend bad luck: a question executes no act and has none.
fn is_worth_another((execution, judgement): &(Execution, Judgement)) -> bool {
    execution.reply.is_none() && worth_another(judgement)
}

/// Returns whether to try again: only a case that taught nothing, and never at the price of a
/// second time-out; and a run that was untimely or could not be set up, because on a busy host much
/// is late.
fn worth_another(judgement: &Judgement) -> bool {
    [Reason::Timing, Reason::SetupFailed, Reason::Host]
        .map(Reason::word)
        .contains(&judgement.reason.as_str())
        || judgement.verdict == Verdict::Inconclusive && !judgement.reason.contains("timed-out")
}

/// Returns the number of arms executed at once when `cases` get a second look: one alone, unless
/// there are so many that it would take for ever, and never more than in the first place.
fn abreast(cases: usize) -> usize {
    const ROUNDS: usize = 16;
    cases.div_ceil(ROUNDS).clamp(1, default_jobs())
}

/// Returns twice the cores: sandboxes wait in the kernel for namespaces and mounts.
fn default_jobs() -> usize {
    2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn judge_all(order: &Order, seen: HashMap<(usize, usize), Execution>, judged: &mut Judged) {
    for ((case, backend), execution) in seen {
        let judgement = judge(&order.cases[case], &execution);
        judged.insert((case, backend), (execution, judgement));
    }
}

/// Finds survivors at the end: a process that still carries a nonce of ours escaped every worker.
fn find_survivors(run_id: &str, judged: &mut Judged) {
    for pid in sweep::outlasting(run_id) {
        let line = sweep::command_line(pid).unwrap_or_default();
        let owner = judged.values_mut().find(|(execution, _)| {
            let confined = [&execution.confined, &execution.twin];
            confined.into_iter().flatten().any(|arm| match arm {
                Arm::Done(report) => sweep::carries(pid, &report.nonce),
                Arm::Channel(seen) => sweep::carries(pid, &seen.nonce),
                _ => false,
            })
        });
        let _ = kill(pid, Signal::SIGKILL);
        let Some((_, judgement)) = owner else { continue };
        if matches!(judgement.verdict, Verdict::Pass | Verdict::Contract | Verdict::OverBlock) {
            judgement.verdict = Verdict::Leak;
            "left-behind".clone_into(&mut judgement.reason);
            judgement.message = format!("process {pid} ({line}) outlived the whole run");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_reports::TwinState;
    use rstest::rstest;

    #[rstest]
    #[case(Verdict::Inconclusive, Reason::NoRecord, true)]
    #[case(Verdict::Inconclusive, Reason::TimedOut, false)]
    #[case(Verdict::Inconclusive, Reason::TwinTimedOut, false)]
    #[case(Verdict::Contract, Reason::Timing, true)]
    #[case(Verdict::Contract, Reason::Exit, false)]
    #[case(Verdict::Error, Reason::SetupFailed, true)]
    #[case(Verdict::Error, Reason::Harness, false)]
    #[case(Verdict::UnderBlock, Reason::Oracle, false)]
    fn what_taught_something_is_not_tried_again(
        #[case] verdict: Verdict,
        #[case] reason: Reason,
        #[case] again: bool,
    ) {
        let (reason, message) = (reason.word().to_owned(), String::new());
        let judgement = Judgement { verdict, reason, message, twin: TwinState::None };
        assert_eq!(worth_another(&judgement), again);
    }
}
