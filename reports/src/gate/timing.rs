//! The decision on timing records ([`decide_timing`]): a regression is red in the lanes that the
//! policy gates, and so is evidence that is missing, stale or of something else.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::freshness::{self, EvidenceOrigin};
use super::policy::check_acceptance;
use super::{GateDecision, GateInputs};
use crate::timing::{LaneResult, TimingLane, TimingRecord, TimingVerdict, lane_line};

/// The rules for timing; a policy that has them wants a timing record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TimingPolicy {
    /// The lanes in which a regression is red; others are told.
    #[serde(default = "gated_lanes")]
    pub lanes: Vec<TimingLane>,
    /// The maximum age of the record, in days.
    #[serde(default = "three_days")]
    pub max_age_days: u32,
    /// SHA-256 of the old program that must be compared with; by default any.
    #[serde(default)]
    pub base_sha256: Option<String>,
    /// Measurements that must be there (`startup/trivial`), and decided in a gated lane.
    #[serde(default)]
    pub required: Vec<String>,
    /// Gated lanes in which a measurement that stays undecided is red; by default it is told.
    #[serde(default)]
    pub decided: Vec<TimingLane>,
    /// Regressions that are accepted, one by one.
    #[serde(default)]
    pub accept: Vec<AcceptedRegression>,
}

fn gated_lanes() -> Vec<TimingLane> {
    vec![TimingLane::Counts, TimingLane::Faults, TimingLane::Cpu, TimingLane::Wall]
}

fn three_days() -> u32 {
    3
}

impl Default for TimingPolicy {
    fn default() -> Self {
        Self {
            lanes: gated_lanes(),
            max_age_days: three_days(),
            base_sha256: None,
            required: Vec::new(),
            decided: Vec::new(),
            accept: Vec::new(),
        }
    }
}

/// A regression that is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AcceptedRegression {
    /// The measurement.
    pub measurement: String,
    /// The lane.
    pub lane: TimingLane,
    /// The reason why it is accepted.
    pub reason: String,
    /// The link to the decision.
    pub link: String,
    /// The last day (UTC) on which it is accepted, YYYY-MM-DD.
    pub expires: String,
}

impl TimingPolicy {
    /// Checks for entries that no schema forbids and that have no meaning.
    ///
    /// # Errors
    /// The first such entry, with its remedy.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.lanes.is_empty() {
            return Err("timing: lanes is empty: name one, or leave `[timing]` out".to_owned());
        }
        if let Some(lane) = self.decided.iter().find(|lane| !self.lanes.contains(lane)) {
            let lane = lane.keyword();
            return Err(format!("timing: decided names {lane}, which is not among the lanes"));
        }
        for (number, accepted) in self.accept.iter().enumerate() {
            let AcceptedRegression { reason, link, expires, .. } = accepted;
            check_acceptance(reason, link, expires)
                .map_err(|what| format!("timing accept number {}: {what}", number + 1))?;
        }
        Ok(())
    }
}

/// Decides on `records`, one a backend.
#[must_use]
pub fn decide_timing(
    policy: &TimingPolicy,
    records: &[TimingRecord],
    inputs: &GateInputs,
) -> GateDecision {
    let mut decision = GateDecision::default();
    if records.is_empty() {
        let reason = "timing: no record: make one by `boxproof bench --report FILE`, and name it \
                      by --timing FILE";
        decision.red.push(reason.to_owned());
    }
    let mut used = BTreeSet::new();
    for record in records {
        decision.red.extend(origin_reasons(policy, record, inputs));
        decision.red.extend(missing_parts(policy, record));
        for measurement in &record.measurements {
            if let Some(fault) = &measurement.fault {
                let (backend, id) = (&record.header.backend, &measurement.id);
                let line = format!("timing: {backend}: {id}: not measured: {}", fault.reason);
                if fault.head_only { decision.red.push(line) } else { decision.told.push(line) }
            }
            for lane in &measurement.lanes {
                let named = (record.header.backend.as_str(), measurement.id.as_str());
                decide_lane(policy, named, lane, inputs, &mut used, &mut decision);
            }
        }
    }
    let idle = policy.accept.iter().enumerate().filter(|(index, _)| !used.contains(index));
    decision.told.extend(idle.map(|(index, accepted)| {
        let (number, id, lane) = (index + 1, &accepted.measurement, accepted.lane.keyword());
        format!("timing accept number {number} ({id}, {lane}) matches no regression: remove it")
    }));
    decision
}

fn decide_lane(
    policy: &TimingPolicy,
    (backend, id): (&str, &str),
    lane: &LaneResult,
    inputs: &GateInputs,
    used: &mut BTreeSet<usize>,
    decision: &mut GateDecision,
) {
    let line = format!("timing: {backend}: {id}: {}", lane_line(lane));
    let is_gated = policy.lanes.contains(&lane.lane);
    let accepted = policy
        .accept
        .iter()
        .enumerate()
        .find(|(_, accepted)| accepted.measurement == id && accepted.lane == lane.lane);
    match (lane.verdict, accepted) {
        (TimingVerdict::Regression, Some((index, accepted))) => {
            used.insert(index);
            let AcceptedRegression { expires, reason, link, .. } = accepted;
            if expires.as_str() < inputs.today.as_str() {
                decision.red.push(format!("{line}; it was accepted until {expires}"));
            } else {
                decision.told.push(format!("accepted until {expires}: {line}; {reason} ({link})"));
            }
        }
        (TimingVerdict::Regression, None) if is_gated => decision.red.push(line),
        (TimingVerdict::Inconclusive, _) if policy.decided.contains(&lane.lane) => {
            decision.red.push(line);
        }
        (TimingVerdict::Regression, None) => decision.told.push(format!("not counted: {line}")),
        (TimingVerdict::Inconclusive | TimingVerdict::Changed, _) => decision.told.push(line),
        _ => {}
    }
}

/// Returns the reasons why a record is not of this release, or too old.
fn origin_reasons(
    policy: &TimingPolicy,
    record: &TimingRecord,
    inputs: &GateInputs,
) -> Vec<String> {
    let header = &record.header;
    let label = &header.backend;
    let origin = EvidenceOrigin {
        what: "timing",
        label,
        started: &header.started,
        commit: header.commit.as_deref(),
    };
    let mut reasons: Vec<String> = freshness::age(&origin, Some(policy.max_age_days), inputs.now)
        .into_iter()
        .chain(freshness::commit(&origin, inputs.commit.as_deref()))
        .collect();
    let (base, head) = (&header.base.sha256, &header.head.sha256);
    if base == head {
        reasons.push(format!("timing: {label}: both programs are one: nothing was compared"));
    }
    let mut expect = |what: &str, found: &str, wanted: Option<&String>| {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            reasons.push(format!(
                "timing: {label}: the {what} program has sha256 {found}, not {wanted}"
            ));
        }
    };
    expect("old", base, policy.base_sha256.as_ref());
    expect("new", head, inputs.programs.get(label));
    reasons
}

/// Returns the reasons why a record does not have what the policy asks for.
fn missing_parts(policy: &TimingPolicy, record: &TimingRecord) -> Vec<String> {
    let label = &record.header.backend;
    let planned = &record.header.plan.lanes;
    let unmeasured = policy.lanes.iter().filter(|lane| !planned.contains(lane)).map(|lane| {
        format!("timing: {label}: lane {} is gated and was not measured", lane.keyword())
    });
    let is_decided = |lane: &&LaneResult| {
        policy.lanes.contains(&lane.lane)
            && !matches!(lane.verdict, TimingVerdict::Inconclusive | TimingVerdict::Unavailable)
    };
    let decided = |id: &str| record.lanes().any(|(m, lane)| m.id == id && is_decided(&lane));
    let undecided = policy.required.iter().filter(|id| !decided(id)).map(|id| {
        format!("timing: {label}: {id} is required, and no gated lane of it was decided")
    });
    let empty = !record.lanes().any(|(_, lane)| is_decided(&lane));
    let empty = empty.then(|| format!("timing: {label}: no gated lane was decided"));
    unmeasured.chain(undecided).chain(empty).collect()
}
