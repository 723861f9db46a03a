//! Judging whether an arm shows that the act is possible: the purpose of control and twin.

use boxproof_cases::Case;
use boxproof_probes::ActOutcome;

use super::evidence;
use super::exit::{self, RunEvidence};
use crate::execution::{ArmReport, ProcessExit, RunReport};

/// The way in which an arm falls short of showing that the act is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Infeasible {
    /// The act or its policy was refused, or had no effect.
    Refused(String),
    /// The sandbox could not be built.
    SetUp(String),
    /// The backend has no way to say the policy.
    Inexpressible(String),
    /// It did not end in time.
    TimedOut,
    /// No evidence shows the outcome.
    Unseen(String),
    /// An effect could not be read.
    Unread(String),
}

impl Infeasible {
    /// Returns the shortfall as a clause.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Refused(why)
            | Self::Unread(why)
            | Self::SetUp(why)
            | Self::Inexpressible(why)
            | Self::Unseen(why) => why,
            Self::TimedOut => "the act did not end in time",
        }
    }
}

/// The act happened and every oracle that watches for it has seen it.
pub(super) fn shown(case: &Case, report: &ArmReport) -> Result<(), Infeasible> {
    complete(case, report)?;
    report.runs.iter().try_for_each(|run| attempted(case, run))?;
    let Some(blind) = report.oracles.iter().find(|reading| reading.positive != reading.holds)
    else {
        return Ok(());
    };
    let why = format!("the oracle `{}` saw nothing: {}", blind.oracle, blind.saw);
    // A process that was killed before anything was seen of it has shown nothing, not even a
    // refusal.
    let ended = |run: &RunReport| exit::executed(case, run).is_ok() && !exit::died(run);
    let ended = case.act().is_probe() || report.runs.iter().all(ended);
    Err(if ended { Infeasible::Refused(why) } else { Infeasible::Unseen(why) })
}

/// The act worked as the case says it does without a sandbox.
pub(super) fn works(case: &Case, report: &ArmReport) -> Result<(), Infeasible> {
    complete(case, report)?;
    for run in &report.runs {
        attempted(case, run)?;
        ended_well(case, run).map_err(Infeasible::Refused)?;
    }
    match report.oracles.iter().find(|reading| !reading.holds) {
        Some(reading) => {
            let why = format!("the oracle `{}` does not hold: {}", reading.oracle, reading.saw);
            Err(Infeasible::Refused(why))
        }
        None => Ok(()),
    }
}

fn ended_well(case: &Case, run: &RunReport) -> Result<(), String> {
    match &case.expect.exit {
        Some(wanted) => exit::exit_fits(wanted, run),
        None if !case.act().is_probe() && run.exit != ProcessExit::Code(0) => {
            Err(exit::with_stderr(&format!("the act {}", exit::ended(run)), run))
        }
        None => Ok(()),
    }
}

fn complete(case: &Case, report: &ArmReport) -> Result<(), Infeasible> {
    let missing = runs_missing(case, report).or_else(|| reading_missing(case, report));
    missing.map_or(Ok(()), |why| Err(Infeasible::Unseen(why)))?;
    evidence::unread(report).map_or(Ok(()), |why| Err(Infeasible::Unread(why)))
}

/// Describes a wrong number of runs, if the number is wrong.
pub(super) fn runs_missing(case: &Case, report: &ArmReport) -> Option<String> {
    let (ran, asked) = (report.runs.len(), u64::from(case.repeat) * u64::from(case.parallel));
    (ran as u64 != asked).then(|| format!("{ran} of {asked} runs took place"))
}

/// Names an oracle of the case that was not read, if there is one.
pub(super) fn reading_missing(case: &Case, report: &ArmReport) -> Option<String> {
    let read = |name: &str| report.oracles.iter().any(|reading| reading.oracle == name);
    let mut asked = case.expect.oracle.iter().map(ToString::to_string);
    asked.find(|name| !read(name)).map(|name| format!("the oracle `{name}` was not read"))
}

/// The sandbox was set up, took the policy and ended in time.
pub(super) fn begun(run: &RunReport) -> Result<(), Infeasible> {
    if let Some(why) = exit::setup_failed(run) {
        let why = exit::with_words("the sandbox could not be set up", &exit::by_exits(&why, run));
        return Err(Infeasible::SetUp(why));
    }
    if let Some(why) = exit::inexpressible(run) {
        return Err(Infeasible::Inexpressible(why));
    }
    if let Some(why) = exit::declined(run) {
        let why = exit::with_words("the policy was refused", &exit::by_exits(&why, run));
        return Err(Infeasible::Refused(why));
    }
    if run.exit == ProcessExit::TimedOut {
        return Err(Infeasible::TimedOut);
    }
    Ok(())
}

/// The act was really tried, and succeeded as far as the one who tried can tell.
fn attempted(case: &Case, run: &RunReport) -> Result<(), Infeasible> {
    begun(run)?;
    match exit::run_evidence(case, run) {
        RunEvidence::NotExpected => Ok(()),
        RunEvidence::Silence => Err(Infeasible::Unseen(exit::silence(run))),
        RunEvidence::Untrusted(why) => Err(Infeasible::Unseen(why)),
        RunEvidence::Outcome(ActOutcome::Succeeded) => Ok(()),
        RunEvidence::Outcome(ActOutcome::Refused { errno, call }) => {
            Err(Infeasible::Refused(format!("{call} failed with {errno}")))
        }
        RunEvidence::Outcome(ActOutcome::Killed { signal }) => {
            Err(Infeasible::Refused(format!("the attempt was killed by {signal}")))
        }
    }
}
