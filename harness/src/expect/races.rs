//! Cases that come to several outcomes in runs of one setting ([`races`]), with the number of runs
//! that showed each.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use boxproof_reports::{CaseRow, Verdict};

use super::{MeasuredRun, UpdateOptions, one_line_reason};
use crate::known::{IdPattern, KnownOutcome, KnownRow, RunSetting};

/// Counts of outcomes: verdict and reason code.
type OutcomeCounts = BTreeMap<(Verdict, String), u32>;

/// The rows about races, and the cases that they speak for in a setting.
#[derive(Debug, Default)]
pub(super) struct RaceRows {
    pub(super) rows: Vec<KnownRow>,
    settled: BTreeSet<(String, String)>,
}

impl RaceRows {
    /// Returns whether a row speaks for the case `id` in `setting`.
    pub(super) fn speak_for(&self, id: &str, setting: &RunSetting) -> bool {
        self.settled.contains(&(id.to_owned(), setting_key(setting)))
    }

    fn add(&mut self, row: KnownRow, id: &str, setting: &RunSetting) {
        self.rows.push(row);
        self.settled.insert((id.to_owned(), setting_key(setting)));
    }
}

/// Returns a row for each case that came to several outcomes in `runs` of one setting, or did so
/// before by `old`. Rows of `old` about races that no run measured stay as they are.
pub(super) fn races(
    old: &[KnownRow],
    runs: &[MeasuredRun<'_>],
    options: UpdateOptions,
) -> RaceRows {
    let mut found = RaceRows::default();
    for (at, run) in runs.iter().enumerate() {
        let is_first = !runs[..at].iter().any(|before| before.setting == run.setting);
        let alike: Vec<&MeasuredRun<'_>> =
            runs.iter().filter(|other| other.setting == run.setting).collect();
        for row in run.rows.iter().filter(|_| is_first) {
            let before = old.iter().find(|known| is_race_of(known, &row.id, &run.setting));
            let counts = outcomes(&row.id, &alike, before);
            if is_race(&counts) {
                let race = race_row(row, &counts, before, &run.setting, options);
                race.into_iter().for_each(|race| found.add(race, &row.id, &run.setting));
            }
        }
    }
    let measured = |known: &KnownRow| {
        runs.iter().any(|run| {
            known.applies(&run.setting) && run.rows.iter().any(|row| known.case.matches(&row.id))
        })
    };
    found.rows.extend(old.iter().filter(|known| known.is_race() && !measured(known)).cloned());
    found
}

/// The text that tells settings apart; two settings of one list differ in nothing else.
fn setting_key(setting: &RunSetting) -> String {
    format!("{:?} {:?} {:?}", setting.os, setting.user, setting.version)
}

fn is_race_of(known: &KnownRow, id: &str, setting: &RunSetting) -> bool {
    known.is_race() && known.applies(setting) && known.case.matches(id)
}

/// Counts what `runs` and the row `before` say of the case `id`; what taught nothing is not counted.
fn outcomes(id: &str, runs: &[&MeasuredRun<'_>], before: Option<&KnownRow>) -> OutcomeCounts {
    let mut counts = OutcomeCounts::new();
    for outcome in before.iter().flat_map(|known| &known.any_of) {
        counts.insert((outcome.verdict, outcome.signature.clone()), outcome.seen.get());
    }
    for row in runs.iter().flat_map(|run| run.rows.iter().filter(|row| row.id == id)) {
        if row.verdict == Verdict::Pass || row.verdict.is_failure() {
            *counts.entry((row.verdict, row.reason.clone())).or_default() += 1;
        }
    }
    counts
}

fn is_race(counts: &OutcomeCounts) -> bool {
    counts.len() > 1 && counts.keys().any(|(verdict, _)| verdict.is_failure())
}

fn race_row(
    row: &CaseRow,
    counts: &OutcomeCounts,
    before: Option<&KnownRow>,
    setting: &RunSetting,
    options: UpdateOptions,
) -> Option<KnownRow> {
    let outcome = |((verdict, signature), count): (&(Verdict, String), &u32)| {
        let seen = NonZeroU32::new(*count)?;
        Some(KnownOutcome { verdict: *verdict, signature: signature.clone(), seen })
    };
    let any_of = counts.iter().filter_map(outcome).collect();
    // An id is always a pattern.
    let case = IdPattern::try_from(row.id.clone()).ok()?;
    Some(KnownRow {
        case,
        verdict: None,
        signature: None,
        any_of,
        reason: before.map_or_else(
            || one_line_reason(&row.message, "another outcome in each run"),
            |known| known.reason.clone(),
        ),
        link: before.and_then(|known| known.link.clone()),
        expires: before.and_then(|known| known.expires.clone()),
        user: Some(setting.user),
        version: before.and_then(|known| known.version.clone()),
        os: before
            .and_then(|known| known.os)
            .or_else(|| options.several_systems.then_some(setting.os)),
    })
}
