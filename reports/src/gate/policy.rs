//! The policy of a gate ([`GatePolicy`]): the content of `boxproof.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timing::TimingPolicy;
use crate::diff::TransitionKind;
use crate::profile::Conformance;
use crate::record::{CaseRow, Level};

/// The policy of a gate. Everything but the baseline has a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GatePolicy {
    /// The run to compare with.
    pub baseline: BaselinePolicy,
    /// The requirements on the evidence.
    #[serde(default)]
    pub evidence: EvidencePolicy,
    /// The changes that are red, and their scopes.
    #[serde(default)]
    pub conformance: ConformancePolicy,
    /// Profile → the standing that every column must have.
    #[serde(default)]
    pub profiles: BTreeMap<String, ProfileDemand>,
    /// The rules for known failures.
    #[serde(default)]
    pub known_failures: KnownPolicy,
    /// How many rows may pass on another try alone.
    #[serde(default)]
    pub flaky: FlakyPolicy,
    /// The rules for timing; without them a timing record is not asked for.
    #[serde(default)]
    pub timing: Option<TimingPolicy>,
    /// Changes that are accepted, one by one.
    #[serde(default)]
    pub accept: Vec<AcceptedChange>,
}

/// The run to compare with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BaselinePolicy {
    /// The baseline's record, or a directory of its shards; relative to the policy file.
    pub record: PathBuf,
    /// The commit that it must be of.
    #[serde(default)]
    pub commit: Option<String>,
    /// The maximum age of the baseline, in days; by default unlimited.
    #[serde(default)]
    pub max_age_days: Option<u32>,
}

/// The requirements on the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EvidencePolicy {
    /// The maximum age of the evidence, in days.
    #[serde(default = "three_days")]
    pub max_age_days: u32,
    /// Backends that must have been judged; by default those of the baseline.
    #[serde(default)]
    pub backends: Vec<String>,
}

fn three_days() -> u32 {
    3
}

impl Default for EvidencePolicy {
    fn default() -> Self {
        Self { max_age_days: three_days(), backends: Vec::new() }
    }
}

/// The changes that are red, and their scopes; by default each at every level and in every area.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConformancePolicy {
    /// A denied act happens now.
    #[serde(default)]
    pub newly_open: RedScope,
    /// Something is left behind that was not.
    #[serde(default)]
    pub newly_leaking: RedScope,
    /// An allowed act is refused now.
    #[serde(default)]
    pub newly_over_blocked: RedScope,
    /// A promise about a decision is not kept any more.
    #[serde(default)]
    pub promise_newly_broken: RedScope,
    /// A judged case is not judged any more, or a pass has lost its twin.
    #[serde(default)]
    pub coverage_lost: RedScope,
    /// A case is not asked any more.
    #[serde(default)]
    pub removed: RedScope,
}

impl ConformancePolicy {
    /// Returns the scope in which changes of `kind` are red; `None` if they never are.
    fn scope(&self, kind: TransitionKind) -> Option<&RedScope> {
        match kind {
            TransitionKind::NewlyOpen => Some(&self.newly_open),
            TransitionKind::NewlyLeaking => Some(&self.newly_leaking),
            TransitionKind::NewlyOverBlocked => Some(&self.newly_over_blocked),
            TransitionKind::NewlyBroken => Some(&self.promise_newly_broken),
            TransitionKind::CoverageLost => Some(&self.coverage_lost),
            TransitionKind::Removed => Some(&self.removed),
            // Counted by `FlakyPolicy`, with those that were flaky before.
            TransitionKind::NewlyFlaky => None,
            TransitionKind::Fixed
            | TransitionKind::PartlyFixed
            | TransitionKind::CoverageGained
            | TransitionKind::OtherReason
            | TransitionKind::Added => None,
        }
    }

    /// Returns whether a change of `kind` is red in the scope of `row`.
    #[must_use]
    pub fn is_red(&self, kind: TransitionKind, row: &CaseRow) -> bool {
        self.scope(kind).is_some_and(|scope| scope.holds(row))
    }
}

/// The standing that a column must have on a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileDemand {
    /// Conformant, without an exception.
    Conformant,
    /// Conformant, known failures apart.
    WithExceptions,
}

impl ProfileDemand {
    /// Returns whether `standing` meets the demand.
    #[must_use]
    pub fn is_met(self, standing: Conformance) -> bool {
        match self {
            Self::Conformant => standing == Conformance::Conformant,
            Self::WithExceptions => standing <= Conformance::WithExceptions,
        }
    }
}

/// The levels and areas in which a change is red.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RedScope {
    /// The levels; none is never.
    #[serde(default = "every_level")]
    pub levels: Vec<Level>,
    /// The areas; by default all of them.
    #[serde(default)]
    pub areas: Option<Vec<String>>,
}

fn every_level() -> Vec<Level> {
    Level::ALL.into()
}

impl Default for RedScope {
    fn default() -> Self {
        Self { levels: every_level(), areas: None }
    }
}

impl RedScope {
    fn holds(&self, row: &CaseRow) -> bool {
        let here = |areas: &Vec<String>| areas.contains(&row.area);
        self.levels.contains(&row.level) && self.areas.as_ref().is_none_or(here)
    }
}

/// The rules for known failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KnownPolicy {
    /// True if a known failure that passes is red: the list is then out of date.
    #[serde(default = "yes")]
    pub passing_is_red: bool,
    /// True if a failure at level `must` that no list names is red, although it is not new.
    #[serde(default)]
    pub unlisted_is_red: bool,
}

fn yes() -> bool {
    true
}

impl Default for KnownPolicy {
    fn default() -> Self {
        Self { passing_is_red: true, unlisted_is_red: false }
    }
}

/// How many rows may pass on another try alone, and which of them count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlakyPolicy {
    /// How many may be flaky, of all columns together; more are red.
    #[serde(default)]
    pub allowed: u64,
    /// The levels at which they count; none is never.
    #[serde(default = "every_level")]
    pub levels: Vec<Level>,
}

impl Default for FlakyPolicy {
    fn default() -> Self {
        Self { allowed: 0, levels: every_level() }
    }
}

/// A change that is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AcceptedChange {
    /// The case's id; a last part `*` stands for every row of a case.
    pub case: String,
    /// The change, in the words of `boxproof diff`: `newly open`.
    pub change: String,
    /// The backend; by default any.
    #[serde(default)]
    pub backend: Option<String>,
    /// The reason why the change is accepted.
    pub reason: String,
    /// The link to the decision.
    pub link: String,
    /// The last day (UTC) on which it is accepted, YYYY-MM-DD.
    pub expires: String,
}

impl AcceptedChange {
    /// Returns whether the entry names a change of `kind`, of case `id` of `backend`.
    pub(super) fn names(&self, kind: &str, id: &str, backend: &str) -> bool {
        let case = match self.case.strip_suffix("/*") {
            Some(stem) => id.strip_prefix(stem).is_some_and(|rest| rest.starts_with('/')),
            None => id == self.case,
        };
        case && self.change == kind && self.backend.as_ref().is_none_or(|own| own == backend)
    }
}

/// Checks the reason, the link and the last day of something that is accepted.
///
/// # Errors
/// The first that has no meaning, with its remedy.
pub(super) fn check_acceptance(
    reason: &str,
    link: &str,
    expires: &str,
) -> Result<(), &'static str> {
    if reason.trim().is_empty() {
        return Err("the reason is empty: say why it is accepted");
    }
    if !link.starts_with("https://") {
        return Err("the link is no https:// address: say where it was decided");
    }
    if !is_day(expires) {
        return Err("expires is no day: write YYYY-MM-DD");
    }
    Ok(())
}

impl GatePolicy {
    /// Checks a policy file for entries that no schema forbids and that have no meaning.
    ///
    /// # Errors
    /// The first such entry, with its remedy.
    pub fn check(&self) -> Result<(), String> {
        for (number, accepted) in self.accept.iter().enumerate() {
            let fault = |what: &str| Err(format!("accept number {}: {what}", number + 1));
            let known =
                |kind: &TransitionKind| kind.is_worse() && kind.heading() == accepted.change;
            if !TransitionKind::ALL.iter().any(known) {
                let words = TransitionKind::ALL.into_iter().filter(|kind| kind.is_worse());
                let words: Vec<&str> = words.map(TransitionKind::heading).collect();
                let found = &accepted.change;
                return fault(&format!("change `{found}` is none of: {}", words.join(", ")));
            }
            let AcceptedChange { reason, link, expires, .. } = accepted;
            check_acceptance(reason, link, expires).or_else(fault)?;
        }
        self.timing.as_ref().map_or(Ok(()), TimingPolicy::check)
    }
}

/// Returns whether `text` is a day, YYYY-MM-DD.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, length: usize, most: u32| {
        part.len() == length && part.parse().is_ok_and(|n: u32| (1..=most).contains(&n))
    };
    matches!(parts.as_slice(), [year, month, day]
        if number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31))
}
