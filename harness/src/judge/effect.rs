//! Whether an arm shows that the act is possible: what a control and a twin are for.

use boxproof_cases::Case;
use boxproof_probes::Outcome;

use super::reason;
use crate::execution::{Exit, Observation, Report, RunReport};

/// The act happened and every oracle that watches for it has seen it.
pub(super) fn shown(case: &Case, report: &Report) -> Result<(), String> {
    ran(case, report, |run| attempted(run))?;
    match report.oracles.iter().find(|reading| reading.positive != reading.holds) {
        Some(reading) => {
            Err(format!("the oracle `{}` saw nothing: {}", reading.oracle, reading.saw))
        }
        None => Ok(()),
    }
}

/// The act worked as the case says it does without a sandbox.
pub(super) fn works(case: &Case, report: &Report) -> Result<(), String> {
    ran(case, report, |run| {
        attempted(run)?;
        match &case.expect.exit {
            Some(wanted) => reason::exit_fits(wanted, run),
            None if run.observation == Observation::NotExpected && run.exit != Exit::Code(0) => {
                Err(format!(
                    "the act {}: {}",
                    reason::ended(run),
                    reason::excerpt(&run.stderr.text)
                ))
            }
            None => Ok(()),
        }
    })?;
    match report.oracles.iter().find(|reading| !reading.holds) {
        Some(reading) => {
            Err(format!("the oracle `{}` does not hold: {}", reading.oracle, reading.saw))
        }
        None => Ok(()),
    }
}

fn ran(
    case: &Case,
    report: &Report,
    check: impl Fn(&RunReport) -> Result<(), String>,
) -> Result<(), String> {
    if report.runs.is_empty() {
        return Err(format!("nothing of {} ran", case.id));
    }
    report.runs.iter().try_for_each(check)
}

/// The act was really tried, and succeeded as far as the one who tried can tell.
fn attempted(run: &RunReport) -> Result<(), String> {
    if let Some(why) = reason::declined(run) {
        return Err(format!("the policy was refused: {why}"));
    }
    if run.exit == Exit::TimedOut {
        return Err("the act did not end in time".to_owned());
    }
    match &run.observation {
        Observation::NotExpected => Ok(()),
        Observation::Missing => Err(format!(
            "the probe left no record; it {}: {}",
            reason::ended(run),
            reason::excerpt(&run.stderr.text)
        )),
        Observation::Untrusted(why) => Err(why.clone()),
        Observation::Seen(record) => match &record.outcome {
            Outcome::Succeeded => Ok(()),
            Outcome::Refused { errno, call } => Err(format!("{call} failed with {errno}")),
            Outcome::Killed { signal } => Err(format!("the attempt was killed by {signal}")),
        },
    }
}
