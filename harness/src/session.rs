//! One run from plan to rows: plan, execute, judge, collect. Main function: [`conduct`].

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use boxproof_cases::Suite;
use boxproof_reports::{CaseRow, Header, UserKind, Verdict};
use nix::sys::signal::{Signal, kill};

use crate::backend::Backend;
use crate::collect;
use crate::execution::{Arm, Execution};
use crate::host::{Host, Tools};
use crate::judge::{Judgement, Reason, judge};
use crate::known::{Date, Os, Setting};
use crate::plan::{Plan, PlanOptions, Planned, plan};
use crate::pool::{self, Ended};
use crate::run::question::{Desk, ask_all};
use crate::schedule::Order;
use crate::scratch::{self, Scratch};
use crate::selection::Selection;
use crate::sweep;
use crate::worker::Birthright;

/// What is asked of a run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The corpus.
    pub suite: Suite,
    /// Which cases of it.
    pub selection: Selection,
    /// Against which backends.
    pub backends: Vec<Backend>,
    /// Whether cases are run even where the backend does not claim what they need.
    pub all: bool,
    /// Whether failures below `must` count; told in the header.
    pub strict: bool,
    /// How many CPU-bound arms are in flight; by default twice the cores.
    pub jobs: Option<usize>,
    /// Where the scratch folder is made; by default the cache folder of the user.
    pub scratch: Option<PathBuf>,
    /// What a reproduce line needs besides case and backend, such as `--cases DIR`.
    pub reproduce: String,
}

/// What came of it.
#[derive(Debug)]
pub enum Conclusion {
    /// Header and rows of the record, in the suite's order.
    Finished(Box<Finished>),
    /// This signal came first; nothing is concluded.
    Interrupted(Signal),
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
}

/// The judgements of a run: (case, backend) → what was seen and concluded.
type Judged = HashMap<(usize, usize), (Execution, Judgement)>;

/// Starts the tools that the selected cases ask for.
pub fn tools_for(suite: &Suite, selection: &Selection) -> Tools {
    let selected = suite.cases.iter().filter(|case| selection.selects(case));
    Tools::among(&selected.flat_map(|case| case.host.iter().copied()).collect())
}

/// Plans, executes, judges and collects. `tools` are those of [`tools_for`], started as early as
/// possible; `progress` hears how many of how many arms are done. Call before any thread exists:
/// workers are forked.
///
/// # Errors
/// When scratch folder, probe or workers cannot be made, or what a run leaves cannot be seen.
pub fn conduct(
    request: &Request,
    tools: Tools,
    progress: impl FnMut(usize, usize),
) -> io::Result<Conclusion> {
    sweep::check_sight()?;
    let started = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let base = request.scratch.clone().unwrap_or_else(scratch::default_base);
    let scratch = Scratch::make(&base)?;
    let host = Host::detect(&scratch.path, tools);
    let options = PlanOptions { all: request.all };
    let plan = plan(&request.suite, &request.selection, &request.backends, &host, options);
    let judged = match execute(request, &plan, &scratch, progress)? {
        Ok(judged) => judged,
        Err(signal) => return Ok(Conclusion::Interrupted(signal)),
    };
    drop(scratch);
    let user = if host.uid == 0 { UserKind::Root } else { UserKind::Ordinary };
    let setting = |backend: &Backend| Setting {
        os: Os::HERE,
        user,
        version: backend.version.clone(),
        today: Date::today(),
    };
    let header = collect::header(request, &plan, &host, started);
    let rows = collect::rows(request, &plan, &judged, &setting);
    let stale = collect::stale(request, &rows, &setting);
    Ok(Conclusion::Finished(Box::new(Finished { header, rows, stale })))
}

/// Executes and judges every planned pair; what is worth it gets one more try, alone.
fn execute(
    request: &Request,
    plan: &Plan,
    scratch: &Scratch,
    mut progress: impl FnMut(usize, usize),
) -> io::Result<Result<Judged, Signal>> {
    let probe = scratch.install_probe()?;
    let pairs: Vec<(usize, usize)> = plan
        .cases
        .iter()
        .filter(|planned| planned.what == Planned::Run)
        .map(|planned| (planned.case, planned.backend))
        .collect();
    let cases: Vec<_> = request.suite.cases.iter().cloned().map(Arc::new).collect();
    let mut judged = Judged::new();
    let mut slots = request.jobs.unwrap_or_else(default_jobs);
    let (questions, pairs): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|(case, _)| cases[*case].question().is_some());
    let desk = Desk { scratch: &scratch.path, probe: &probe, run_id: &scratch.run_id, slots };
    let replies = ask_all(&desk, (&cases, &request.backends), &questions);
    let mut order = Order::new(cases, request.backends.clone(), &pairs);
    judge_all(&order, replies, &mut judged);
    for last in [false, true] {
        let birthright = Birthright {
            order: &order,
            scratch: &scratch.path,
            probe: &probe,
            run_id: &scratch.run_id,
            janitor: scratch.janitor,
        };
        match pool::run(&birthright, slots, &mut progress)? {
            Ended::Complete(seen) => judge_all(&order, seen, &mut judged),
            Ended::Interrupted(signal) => return Ok(Err(signal)),
        }
        find_survivors(&scratch.run_id, &mut judged);
        // Who runs nothing has no bad luck.
        let plays = |pair: &(usize, usize)| order.backends[pair.1].double().is_some();
        let again: Vec<_> = judged
            .iter()
            .filter(|(pair, seen)| !plays(pair) && is_worth_another(seen))
            .map(|(p, _)| *p)
            .collect();
        if again.is_empty() || last {
            break;
        }
        slots = abreast(again.len());
        order = Order::new(order.cases, order.backends, &again).alone();
    }
    Ok(Ok(judged))
}

/// What asks and does not act has no bad luck that another try could mend.
fn is_worth_another((execution, judgement): &(Execution, Judgement)) -> bool {
    execution.reply.is_none() && worth_another(judgement)
}

/// Only what taught nothing is tried again, and never at the price of a second time-out; and what
/// was untimely or could not be set up, because on a busy host much is late.
fn worth_another(judgement: &Judgement) -> bool {
    [Reason::Timing, Reason::SetupFailed].map(Reason::word).contains(&judgement.reason.as_str())
        || judgement.verdict == Verdict::Inconclusive && !judgement.reason.contains("timed-out")
}

/// How many arms are executed at once when `cases` are looked at again: one alone, unless there
/// are so many that it would take for ever, and never more than in the first place.
fn abreast(cases: usize) -> usize {
    const ROUNDS: usize = 16;
    cases.div_ceil(ROUNDS).clamp(1, default_jobs())
}

/// Twice the cores: sandboxes wait in the kernel for namespaces and mounts.
fn default_jobs() -> usize {
    2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn judge_all(order: &Order, seen: HashMap<(usize, usize), Execution>, judged: &mut Judged) {
    for ((case, backend), execution) in seen {
        let judgement = judge(&order.cases[case], &execution);
        judged.insert((case, backend), (execution, judgement));
    }
}

/// The last look: whatever still carries a nonce of ours escaped every worker.
fn find_survivors(run_id: &str, judged: &mut Judged) {
    for pid in sweep::carrying(run_id) {
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
