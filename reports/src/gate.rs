//! The decision on a release ([`decide`]): a run beside the one before, under a policy. Evidence
//! that is missing, stale or of something else is red, never green.

mod freshness;
mod policy;
mod timing;

use std::collections::{BTreeMap, BTreeSet};

use crate::diff::{Diff, Transition, TransitionKind, diff};
use crate::exit::{ExitOptions, is_red};
use crate::matrix::{Matrix, MatrixColumn};
use crate::profile;
use crate::record::CaseRow;
use crate::row_reading::headline;
use crate::text::{earlier_tries, printable};
use crate::verdict::Outcome;

pub use policy::{
    AcceptedChange, BaselinePolicy, ConformancePolicy, EvidencePolicy, FlakyPolicy, GatePolicy,
    KnownPolicy, ProfileDemand, RedScope,
};

pub use timing::{AcceptedRegression, TimingPolicy, decide_timing};

/// The inputs of a gate besides records and policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateInputs {
    /// The time, in seconds since 1970.
    pub now: u64,
    /// The day (UTC), YYYY-MM-DD.
    pub today: String,
    /// The commit that would be released.
    pub commit: Option<String>,
    /// Backend → SHA-256 of the program that would be released.
    pub programs: BTreeMap<String, String>,
}

/// The decision of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateDecision {
    /// The reasons why it is red, a line each; an empty list is green.
    pub red: Vec<String>,
    /// Further statements, a line each.
    pub told: Vec<String>,
    /// The number of results that were compared.
    pub compared: u64,
}

impl GateDecision {
    /// Returns whether the release may go.
    #[must_use]
    pub fn is_green(&self) -> bool {
        self.red.is_empty()
    }
}

/// The decision as text, a line a reason; the last line says it all.
#[must_use]
pub fn render(decision: &GateDecision) -> String {
    let line =
        |mark: &str, text: &String| printable(&format!("{mark}{}", text.replace('\n', " "))) + "\n";
    let told = decision.told.iter().map(|text| line("note: ", text));
    let red = decision.red.iter().map(|text| line("red: ", text));
    let compared = decision.compared;
    let last = match decision.red.len() {
        0 => format!("gate: green, {compared} cases compared\n"),
        count => format!("gate: red, {count} reasons, {compared} cases compared\n"),
    };
    told.chain(red).chain([last]).collect()
}

/// Decides on `after`, beside `before`.
#[must_use]
pub fn decide(
    policy: &GatePolicy,
    (before, after): (&Matrix<'_>, &Matrix<'_>),
    circumstances: &GateInputs,
) -> GateDecision {
    let found = diff(before, after);
    let mut decision = GateDecision { compared: found.compared, ..GateDecision::default() };
    decision.red.extend(freshness::reasons(policy, (before, after), circumstances));
    decision.red.extend(absent(policy, &found, after));
    if found.compared == 0 {
        decision.red.push("no case is in both runs: nothing was compared".to_owned());
    }
    changes(policy, &found, &circumstances.today, &mut decision);
    flaky(policy, &found, after, &mut decision);
    decision.red.extend(standing(policy, after));
    decision.red.extend(profiles(policy, after));
    let environment = environment(&found, (before, after));
    decision.red.extend(environment.red);
    decision.told.extend(environment.told);
    decision
}

/// Every change for the worse: red, or told why it is not.
fn changes(policy: &GatePolicy, found: &Diff<'_>, today: &str, decision: &mut GateDecision) {
    let mut used = BTreeSet::new();
    for transition in &found.transitions {
        if found.gone.contains(&transition.column) {
            continue;
        }
        let line = change(found, transition);
        if !transition.kind.is_worse() {
            let failing = |row: &CaseRow| row.verdict.is_failure();
            if transition.kind == TransitionKind::Added && transition.after.is_some_and(failing) {
                decision.told.push(line);
            }
            continue;
        }
        match accepted(policy, transition) {
            Some((index, accepted)) => {
                used.insert(index);
                let AcceptedChange { expires, reason, link, .. } = accepted;
                match expires.as_str() < today {
                    true => decision.red.push(format!("{line}; it was accepted until {expires}")),
                    false => decision
                        .told
                        .push(format!("accepted until {expires}: {line}; {reason} ({link})")),
                }
            }
            // Counted below, with those that were flaky before.
            None if transition.kind == TransitionKind::NewlyFlaky => {}
            None if counts(policy, transition) => decision.red.push(line),
            None => decision.told.push(format!("not counted: {line}")),
        }
    }
    let idle = policy.accept.iter().enumerate().filter(|(index, _)| !used.contains(index));
    decision.told.extend(idle.map(|(index, AcceptedChange { case, change, .. })| {
        format!("accept number {} ({case}, {change}) matches no change: remove it", index + 1)
    }));
}

/// Rows that passed on another try alone, those apart that are accepted: red where they are more
/// than the policy allows.
fn flaky(policy: &GatePolicy, found: &Diff<'_>, after: &Matrix<'_>, decision: &mut GateDecision) {
    let is_accepted = |row: &CaseRow| {
        let same = |transition: &&Transition<'_>| transition.after == Some(row);
        let newly =
            found.transitions.iter().filter(|t| t.kind == TransitionKind::NewlyFlaky).find(same);
        newly.is_some_and(|transition| accepted(policy, transition).is_some())
    };
    let flaky = |row: &&CaseRow| row.outcome == Outcome::Flaky && !is_accepted(row);
    let (mut counted, mut uncounted) = (Vec::new(), Vec::new());
    for (index, column) in after.columns.iter().enumerate() {
        for row in after.rows_of(index).filter(flaky) {
            let (label, id, level) = (&column.label, &row.id, row.level.keyword());
            let line = format!("flaky: {label}: {id} ({level}): {}", earlier_tries(row));
            let counts = policy.flaky.levels.contains(&row.level);
            if counts { counted.push(line) } else { uncounted.push(format!("not counted: {line}")) }
        }
    }
    decision.told.extend(uncounted);
    let allowed = policy.flaky.allowed;
    if counted.len() as u64 > allowed {
        let count = counted.len();
        let more = |line: String| format!("{line} ({count} are flaky, {allowed} may be)");
        decision.red.extend(counted.into_iter().map(more));
    } else {
        decision.told.extend(counted);
    }
}

fn counts(policy: &GatePolicy, transition: &Transition<'_>) -> bool {
    let row = transition.after.or(transition.before);
    row.is_some_and(|row| policy.conformance.is_red(transition.kind, row))
}

fn accepted<'p>(
    policy: &'p GatePolicy,
    transition: &Transition<'_>,
) -> Option<(usize, &'p AcceptedChange)> {
    let row = transition.after.or(transition.before)?;
    let kind = transition.kind.heading();
    policy.accept.iter().enumerate().find(|(_, a)| a.names(kind, &row.id, &row.backend))
}

/// One change, in the words of `boxproof diff`.
fn change(found: &Diff<'_>, transition: &Transition<'_>) -> String {
    let word = |row: Option<&CaseRow>| row.map_or("not asked".to_owned(), headline);
    let column = &found.columns[transition.column];
    let (before, after) = (word(transition.before), word(transition.after));
    let level = transition.after.or(transition.before).map_or("", |row| row.level.keyword());
    let (kind, id) = (transition.kind.heading(), transition.id);
    format!("{kind}: {column}: {id} ({level}): {before} → {after}")
}

/// Columns and backends that should have been judged and were not.
fn absent(policy: &GatePolicy, found: &Diff<'_>, after: &Matrix<'_>) -> Vec<String> {
    let gone = found.gone.iter().map(|column| {
        format!("evidence: {} is in the baseline and was not judged", found.columns[*column])
    });
    let judged = |name: &&String| after.columns.iter().all(|c| c.backend.name != **name);
    let wanted = policy.evidence.backends.iter().filter(judged);
    gone.chain(wanted.map(|name| format!("evidence: {name} was not judged"))).collect()
}

/// Columns that are less than the policy asks for of a profile.
fn profiles(policy: &GatePolicy, after: &Matrix<'_>) -> Vec<String> {
    let table = profile::table(after);
    let mut reasons = Vec::new();
    for (name, demand) in &policy.profiles {
        for (column, label) in after.columns.iter().map(|column| &column.label).enumerate() {
            match table.iter().find(|s| s.profile == name && s.column == column) {
                None => reasons.push(format!("profile {name}: {label}: no case of it was asked")),
                Some(found) if !demand.is_met(found.standing) => {
                    reasons.push(format!("profile {name}: {label}: {found}"));
                }
                Some(_) => {}
            }
        }
    }
    reasons
}

/// Returns the rows that are red independent of their earlier results.
fn standing(policy: &GatePolicy, after: &Matrix<'_>) -> Vec<String> {
    let options = ExitOptions::default();
    let mut reasons = Vec::new();
    for (index, column) in after.columns.iter().enumerate() {
        for row in after.rows_of(index) {
            let what = match row.outcome {
                Outcome::Xpass if policy.known_failures.passing_is_red => "known failure passes",
                Outcome::Unexpected
                    if policy.known_failures.unlisted_is_red && is_red(row, options) =>
                {
                    "failure that no list names"
                }
                _ => continue,
            };
            let (label, id, line) = (&column.label, &row.id, headline(row));
            reasons.push(format!("{what}: {label}: {id} ({}): {line}", row.level.keyword()));
        }
    }
    reasons
}

/// Sorts the other differences: red if judged cases name the host fact, told otherwise.
fn environment(found: &Diff<'_>, (before, after): (&Matrix<'_>, &Matrix<'_>)) -> GateDecision {
    let mut decision = GateDecision { told: found.environment.clone(), ..GateDecision::default() };
    let identity =
        |column: &MatrixColumn<'_>| (column.backend.name.clone(), column.header.user.kind);
    for (index, new) in after.columns.iter().enumerate() {
        let Some(old) = before.columns.iter().find(|old| identity(old) == identity(new)) else {
            continue;
        };
        let judged = after.rows_of(index).filter(|row| row.verdict.is_judged());
        let named: BTreeSet<&String> = judged.flat_map(|row| &row.host).collect();
        for fact in named {
            let (was, is) = (old.header.host.get(fact), new.header.host.get(fact));
            if was != is {
                let word = |value: Option<&serde_json::Value>| {
                    value.map_or("not stated".to_owned(), ToString::to_string)
                };
                let (label, was, is) = (&new.label, word(was), word(is));
                decision.red.push(format!(
                    "host: {label}: {fact} was {was}, is {is}, and judged cases need it"
                ));
            }
        }
    }
    decision
}
