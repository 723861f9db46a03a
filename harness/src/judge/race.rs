//! How often a race was lost: the counts of probes that try many times.

use boxproof_probes::{ActOutcome, DetailValue};
use boxproof_reports::wilson_interval;

use crate::execution::{ArmReport, ProbeObservation, RunReport};

/// Returns the clause about the attempts of `confined` that reached what is closed, of all attempts,
/// with the 95 % interval of their rate; nothing where no probe counted.
pub(super) fn lost_clause(confined: &ArmReport) -> String {
    let counts: Vec<(u32, u32)> = confined.runs.iter().filter_map(counted).collect();
    let opened: u32 = counts.iter().map(|(opened, _)| opened).sum();
    let tries: u32 = counts.iter().map(|(_, tries)| tries).sum();
    if opened == 0 {
        return String::new();
    }
    let (low, high) = wilson_interval(opened, tries);
    let share = f64::from(opened) / f64::from(tries.max(1));
    let [share, low, high] = [share, low, high].map(|rate| rate * 100.0);
    format!("; {opened} of {tries} attempts opened it, {share:.2} % [{low:.2}, {high:.2}] (95 %)")
}

/// The attempts of one run that reached what is closed, and all of them.
fn counted(run: &RunReport) -> Option<(u32, u32)> {
    let ProbeObservation::Seen(record) = &run.observation else { return None };
    let number = |name: &str| match record.detail.get(name) {
        Some(DetailValue::Number(number)) => u32::try_from(*number).ok(),
        _ => None,
    };
    let counts = (number("opened")?, number("tries")?);
    (record.outcome == ActOutcome::Succeeded).then_some(counts)
}
