//! One run from plan to rows: plan, execute, judge, collect. Main function: [`conduct`].

mod second_look;
mod survivors;
mod watch;

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use boxproof_cases::{Case, Suite};
use boxproof_reports::{CaseRow, Header, UserKind, Verdict};
use nix::sys::signal::Signal;

use crate::backend::Backend;
use crate::case_pair::CasePair;
use crate::collect;
use crate::execution::{CaseExecution, GatheredArms, is_whole};
use crate::host::{HostFacts, PendingTools};
use crate::judge::{Judgement, Reason, judge};
use crate::known::{CivilDate, RunSetting, SystemName};
use crate::plan::{PlanOptions, PlannedAction, PlannedCase, RunPlan, plan};
use crate::pool::{self, PoolEnd, PoolProgress};
use crate::probe::InstalledProbe;
use crate::run::query::{QueryContext, ask_all};
use crate::schedule::JobSchedule;
use crate::scratch::{self, ScratchDirectory};
use crate::selection::CaseSelection;
pub use crate::session_request::SessionRequest;
use crate::shortage;
use crate::strays;
use crate::termination::{self, Termination};
use crate::tries::{BlindLooks, JudgedPairs, RunTries};
use crate::worker::WorkerContext;
use crate::{sweep, sys};
pub use watch::RunWatch;
use watch::{CutReason, LiveNotices};

/// The conclusion of a run.
#[derive(Debug)]
pub enum RunConclusion {
    /// Header and rows of the record, in the suite's order.
    Finished(Box<CompletedRun>),
    /// This signal came first: header, and rows of what was judged until then.
    Interrupted(Signal, Box<CompletedRun>),
}

/// A finished run, before it is written down.
#[derive(Debug, Clone)]
pub struct CompletedRun {
    /// Provenance.
    pub header: Header,
    /// One row a case and backend.
    pub rows: Vec<CaseRow>,
    /// Known-failure rows that should not be there any more, one sentence each.
    pub stale: Vec<String>,
    /// The cause that ended the run before its end; then rows are missing.
    pub interrupted: Option<String>,
}

/// Starts the tools that the selected cases ask for.
pub fn tools_for(suite: &Suite, selection: &CaseSelection) -> PendingTools {
    let selected = suite.cases.iter().filter(|case| selection.selects(case));
    PendingTools::among(&selected.flat_map(|case| case.host.iter().copied()).collect())
}

/// Plans, executes, judges and collects. `tools` are those of [`tools_for`], started as early as
/// possible; `watch` follows the run. Call before any thread exists: workers are forked.
///
/// # Errors
/// A scratch directory, probe or worker that cannot be made, or a system on which the leftovers of
/// a run cannot be seen.
pub fn conduct(
    request: &SessionRequest,
    tools: PendingTools,
    watch: &mut impl RunWatch,
) -> io::Result<RunConclusion> {
    sweep::check_sight()?;
    // Until nothing is left to clean up.
    let termination = Termination::catch()?;
    sys::subreaper()?;
    sys::deny_tracing()?;
    let started = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let base = request.scratch.clone().unwrap_or_else(scratch::default_base);
    shortage::before_scratch()?;
    let scratch = ScratchDirectory::make(&base)?;
    shortage::before_run(&scratch.path, scratch::program_size())?;
    for warning in shortage::warnings() {
        eprintln!("boxproof: {warning}");
    }
    let host = HostFacts::detect(&scratch.path, tools);
    let options = PlanOptions {
        all: request.all,
        scope: request.scope.clone(),
        plain: request.plain.clone(),
    };
    let plan = plan(&request.suite, &request.selection, &request.backends, &host, &options);
    let user = if host.uid == 0 { UserKind::Root } else { UserKind::Ordinary };
    let setting = |backend: &Backend| RunSetting {
        os: SystemName::HERE,
        user,
        version: backend.version.clone(),
        today: CivilDate::today(),
    };
    let header = collect::header(request, &plan, &host, started);
    let row =
        |pair, seen: (&CaseExecution, &Judgement)| collect::row(request, pair, seen, &setting);
    let mut live = LiveNotices { watch, row: &row, told: HashSet::new() };
    let (mut tries, cut) = execute(request, &plan, &scratch, &mut live)?;
    drop(scratch);
    let (looks, cut) = match cut {
        None => looked_again(request, &mut tries, live.watch)?,
        Some(_) => (BlindLooks::new(), cut),
    };
    let cut = termination.release().map(CutReason::Signal).or(cut);
    let mut rows = collect::rows(request, &plan, (&tries, &looks), &setting);
    let mut stale = Vec::new();
    match cut {
        Some(_) => collect::keep_judged(request, &mut rows, &tries.last),
        None => stale = collect::stale(request, &rows, &setting),
    }
    let interrupted = cut.map(|cut| match cut {
        CutReason::Signal(signal) => signal.to_string(),
        CutReason::Unwanted => "--fail-fast".to_owned(),
    });
    let finished = Box::new(CompletedRun { header, rows, stale, interrupted });
    Ok(match cut {
        Some(CutReason::Signal(signal)) => RunConclusion::Interrupted(signal, finished),
        _ => RunConclusion::Finished(finished),
    })
}

/// Takes the second look, where it is asked for; returns its results, and the cause that ended it
/// before its end.
fn looked_again(
    request: &SessionRequest,
    tries: &mut RunTries,
    watch: &mut impl RunWatch,
) -> io::Result<(BlindLooks, Option<CutReason>)> {
    let Some(share) = request.blind else { return Ok((BlindLooks::new(), None)) };
    let mut progress = |done, total| watch.arms(done, total);
    let looks = second_look::look_again(request, share, &mut tries.last, &mut progress)?;
    Ok(looks.map_or_else(|cut| (BlindLooks::new(), Some(cut)), |looks| (looks, None)))
}

/// Executes and judges every planned pair; a pair that is worth it gets one more try, alone.
fn execute(
    request: &SessionRequest,
    plan: &RunPlan,
    scratch: &ScratchDirectory,
    live: &mut LiveNotices<'_, impl RunWatch>,
) -> io::Result<(RunTries, Option<CutReason>)> {
    let probe = InstalledProbe::remember(scratch.install_probe()?)?;
    let mut runner = OrderRunner { scratch, probe, renewals: 0 };
    let Some(rounds) = request.stress else {
        return execute_once(request, plan, &mut runner, live);
    };
    let mut repeated = RunTries::default();
    for _ in 0..rounds {
        let (round, cut) = execute_once(request, plan, &mut runner, live)?;
        repeated.add_repetition(round.last);
        if cut.is_some() {
            return Ok((repeated, cut));
        }
    }
    Ok((repeated, None))
}

/// Executes and judges every planned pair, and once more what is worth it, unless everything is
/// repeated anyway.
fn execute_once(
    request: &SessionRequest,
    plan: &RunPlan,
    runner: &mut OrderRunner<'_>,
    live: &mut LiveNotices<'_, impl RunWatch>,
) -> io::Result<(RunTries, Option<CutReason>)> {
    let cases: Vec<_> = request.suite.cases.iter().cloned().map(Arc::new).collect();
    let mut tries = RunTries::default();
    let mut slots = request.jobs.unwrap_or_else(default_jobs);
    let (questions, pairs): (Vec<_>, Vec<_>) =
        pairs_to_run(plan).partition(|pair| cases[pair.case].question().is_some());
    let replies = match runner.ask((&cases, &request.backends), &questions, slots) {
        Ok(replies) => replies,
        Err(signal) => return Ok((tries, Some(CutReason::Signal(signal)))),
    };
    let mut order = JobSchedule::new(cases.clone(), request.backends.clone(), &pairs);
    judge_all(&order, replies, &mut tries.last);
    if live.all(&tries.last).is_break() {
        return Ok((tries, Some(CutReason::Unwanted)));
    }
    let again =
        |pairs: &[CasePair]| JobSchedule::new(cases.clone(), request.backends.clone(), pairs);
    for last in [request.stress.is_some(), true] {
        if let Some(cut) = runner.run(order, slots, live, &mut tries.last)? {
            return Ok((tries, Some(cut)));
        }
        let pairs = retried_pairs(request, &tries.last);
        if pairs.is_empty() || last {
            break;
        }
        let RunTries { last, earlier, .. } = &mut tries;
        earlier.extend(pairs.iter().filter_map(|pair| Some((*pair, last.get(pair)?.clone()))));
        slots = abreast(pairs.len());
        order = again(&pairs).alone();
    }
    let suspected = strays::suspected(&tries.last);
    if !suspected.is_empty() {
        let order = again(&suspected).confirming_strays();
        let go_on = |_: PoolProgress<'_>| ControlFlow::Continue(());
        match runner.execute_order(&order, 1, go_on)? {
            PoolEnd::Complete(mut seen) => {
                strays::convict(&order, take_whole(&order.cases, &mut seen), &mut tries.last);
            }
            PoolEnd::Cut(signal, _) => return Ok((tries, Some(CutReason::from_signal(signal)))),
        }
    }
    Ok((tries, None))
}

/// Returns the pairs of case and backend that `plan` runs.
fn pairs_to_run(plan: &RunPlan) -> impl Iterator<Item = CasePair> + '_ {
    let runs = plan.cases.iter().filter(|planned| planned.what == PlannedAction::Run);
    runs.map(PlannedCase::pair)
}

/// Returns the pairs of `judged` that are executed once more. A double runs nothing, so that another
/// try shows the same.
fn retried_pairs(request: &SessionRequest, judged: &JudgedPairs) -> Vec<CasePair> {
    let is_double = |pair: &CasePair| request.backends[pair.backend].double().is_some();
    judged
        .iter()
        .filter(|(pair, (execution, judgement))| {
            !is_double(pair) && is_worth_another(execution, judgement)
        })
        .map(|(pair, _)| *pair)
        .collect()
}

/// Executes orders on one scratch directory, with one probe.
struct OrderRunner<'a> {
    scratch: &'a ScratchDirectory,
    probe: InstalledProbe,
    /// The number of times that the probe was installed anew.
    renewals: usize,
}

impl OrderRunner<'_> {
    /// Asks the backends, one after the other: none is to write another one's answers. The signal
    /// that ended it, if one did.
    fn ask(
        &self,
        (cases, backends): (&[Arc<Case>], &[Backend]),
        questions: &[CasePair],
        slots: usize,
    ) -> Result<SeenExecutions, Signal> {
        let ScratchDirectory { path, run_id, janitor, .. } = self.scratch;
        let desk = QueryContext { scratch: path, probe: &self.probe.path, run_id, slots };
        let mut replies = HashMap::new();
        for backend in 0..backends.len() {
            let own: Vec<_> =
                questions.iter().filter(|pair| pair.backend == backend).copied().collect();
            replies.extend(ask_all(&desk, (cases, backends), &own));
            sweep::kill_children(&[janitor.as_raw()]);
            if let Some(signal) = termination::received() {
                return Err(signal);
            }
        }
        Ok(replies)
    }

    /// Executes and judges `order`, part by part; returns the cause that ended it before its end,
    /// if there is one.
    fn run(
        &mut self,
        order: JobSchedule,
        slots: usize,
        live: &mut LiveNotices<'_, impl RunWatch>,
        judged: &mut JudgedPairs,
    ) -> io::Result<Option<CutReason>> {
        let total = order.jobs.len();
        let (mut done, mut seen) = (0, GatheredArms::new());
        for part in order.parts() {
            self.renew()?;
            let progress = |now: PoolProgress<'_>| {
                live.watch.arms(done + now.done, total);
                now.touched.iter().try_for_each(|pair| {
                    let Some(arms) = now.seen.get(pair) else { return ControlFlow::Continue(()) };
                    live.notice_if_complete((*pair, &part.cases[pair.case]), seen.get(pair), arms)
                })
            };
            match self.execute_order(&part, slots, progress)? {
                PoolEnd::Complete(arms) => merge(&mut seen, arms),
                PoolEnd::Cut(signal, arms) => {
                    merge(&mut seen, arms);
                    judge_all(&part, take_whole(&part.cases, &mut seen), judged);
                    return Ok(Some(CutReason::from_signal(signal)));
                }
            }
            done += part.jobs.len();
            let mut executions = take_whole(&part.cases, &mut seen);
            survivors::join(&self.scratch.run_id, &part.cases, &mut executions, judged);
            judge_all(&part, executions, judged);
        }
        Ok(None)
    }

    /// Executes the arms of `order`.
    fn execute_order(
        &self,
        order: &JobSchedule,
        slots: usize,
        progress: impl FnMut(PoolProgress<'_>) -> ControlFlow<()>,
    ) -> io::Result<PoolEnd> {
        let birthright = WorkerContext {
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

type SeenExecutions = HashMap<CasePair, CaseExecution>;

/// Puts what was seen in one part beside what was seen before.
fn merge(seen: &mut GatheredArms, arms: GatheredArms) {
    for (pair, arms) in arms {
        seen.entry(pair).or_default().extend(arms);
    }
}

/// Takes out the executions of which every arm has been seen.
fn take_whole(cases: &[Arc<Case>], seen: &mut GatheredArms) -> SeenExecutions {
    let whole = seen.extract_if(|pair, arms| is_whole(&cases[pair.case], arms.keys()));
    let put_together = |(pair, arms): (CasePair, _)| {
        Some((pair, CaseExecution::from_arms(&cases[pair.case], arms)?))
    };
    whole.filter_map(put_together).collect()
}

/// Returns whether a second try could mend bad luck: a question executes no act and has none.
fn is_worth_another(execution: &CaseExecution, judgement: &Judgement) -> bool {
    !matches!(execution, CaseExecution::Answer(_)) && worth_another(judgement)
}

/// Returns whether to try again: only a case that taught nothing, and never at the price of a
/// second time-out; and a run that was untimely, could not be set up or found nothing that listens,
/// because on a busy host much is late.
fn worth_another(judgement: &Judgement) -> bool {
    [Reason::Timing, Reason::SetupFailed, Reason::Host]
        .map(Reason::code)
        .contains(&judgement.reason.as_str())
        || judgement.verdict == Verdict::ProbeBroken
        // A proxy that does not listen yet refuses connections as well.
        || judgement.verdict == Verdict::OverBlock && judgement.message.contains("ECONNREFUSED")
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

fn judge_all(order: &JobSchedule, seen: SeenExecutions, judged: &mut JudgedPairs) {
    for (pair, execution) in seen {
        let judgement = judge(&order.cases[pair.case], &execution);
        judged.insert(pair, (execution, judgement));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_reports::TwinState;
    use rstest::rstest;

    #[rstest]
    #[case("under the wider policy of the twin, connect failed with ECONNREFUSED", true)]
    #[case("connect failed with EPERM", false)]
    fn what_may_not_listen_yet_is_asked_again(#[case] message: &str, #[case] again: bool) {
        let (reason, message) = (Reason::Twin.code().to_owned(), message.to_owned());
        let judgement =
            Judgement { verdict: Verdict::OverBlock, reason, message, twin: TwinState::None };
        assert_eq!(worth_another(&judgement), again);
    }

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
        let (reason, message) = (reason.code().to_owned(), String::new());
        let judgement = Judgement { verdict, reason, message, twin: TwinState::None };
        assert_eq!(worth_another(&judgement), again);
    }
}
