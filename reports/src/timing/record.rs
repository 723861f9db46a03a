//! The lines of a timing record.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TimingLane, TimingVerdict};
use crate::record::RunUser;

/// One whole timing record.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingRecord {
    /// The first line.
    pub header: TimingHeader,
    /// One line a measurement, in the order of measuring.
    pub measurements: Vec<TimingMeasurement>,
}

/// The first line: the programs, the host and the plan that was fixed before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingHeader {
    /// Version of the format.
    pub format: u32,
    /// Version of the harness that measured.
    pub harness: String,
    /// The start time, RFC 3339 in UTC.
    pub started: String,
    /// The backend that both programs are.
    pub backend: String,
    /// The old program.
    pub base: MeasuredProgram,
    /// The new program.
    pub head: MeasuredProgram,
    /// The commit of the new program, as the one who ran it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Facts of the host by name.
    pub host: BTreeMap<String, serde_json::Value>,
    /// The user that measured.
    pub user: RunUser,
    /// The plan.
    pub plan: TimingPlan,
}

impl TimingHeader {
    /// The format that is written.
    pub const FORMAT: u32 = 1;
}

/// One of the two programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredProgram {
    /// The path, as named.
    pub program: String,
    /// The version it reports; empty where it reports none.
    pub version: String,
    /// SHA-256 of the program, lower-case hex.
    pub sha256: String,
}

/// The plan of measuring, fixed before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingPlan {
    /// True if the plan is the short one.
    pub quick: bool,
    /// The blocks of the screen.
    pub screen_blocks: u32,
    /// The new blocks that decide where the screen did not.
    pub confirm_blocks: u32,
    /// The time after which nothing more is confirmed, in seconds; without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<u64>,
    /// The confidence of every interval.
    pub confidence: f64,
    /// The lanes that are measured.
    pub lanes: Vec<TimingLane>,
    /// The number of lanes of all measurements: the family of comparisons.
    pub family: u32,
}

/// One measurement: one thing done by both programs, in every lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingMeasurement {
    /// The name, such as `startup/trivial`.
    pub id: String,
    /// What one value stands for, such as `a start`.
    pub per: String,
    /// The runs of one position of a block, of which the median counts.
    pub runs: u32,
    /// The conditions of each block, in order of time; screen first.
    pub conditions: Vec<BlockCondition>,
    /// The lanes.
    pub lanes: Vec<LaneResult>,
    /// Other programs in the same blocks.
    pub anchors: Vec<AnchorTime>,
    /// Set when it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<MeasurementFault>,
}

/// The reason why a measurement has no lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasurementFault {
    /// True if the old program did it and the new one did not.
    pub head_only: bool,
    /// The reason.
    pub reason: String,
}

/// The conditions of one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockCondition {
    /// 1 for the screen, 2 for the confirmation.
    pub stage: u8,
    /// The order: `B` base, `H` head, `C` control (base again), lower case for anchors.
    pub order: String,
    /// The load average of one minute, before and after; empty where there is none.
    pub load: Vec<f64>,
    /// The time that a hypervisor took from this host meanwhile, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ms: Option<f64>,
}

/// One lane of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneResult {
    /// The lane.
    pub lane: TimingLane,
    /// The unit of values: `ns`, `faults`, `KiB` or `calls`.
    pub unit: String,
    /// The verdict.
    pub verdict: TimingVerdict,
    /// The stage that decided: 1 for the screen, 2 for the confirmation.
    pub stage: u8,
    /// The reason of a verdict that is not told by the interval alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The median of the old program.
    pub base: f64,
    /// The median of the new program.
    pub head: f64,
    /// New by old; none in the lane of counts, which has no spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<RatioInterval>,
    /// Old by old in the same blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<RatioInterval>,
    /// The values, block by block, as the conditions are.
    pub blocks: Vec<LaneBlock>,
    /// The system calls that differ.
    pub calls: Vec<CallChange>,
    /// What criterion estimates from the same values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<LaneEstimates>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatioInterval {
    /// The estimate.
    pub estimate: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The values of one block: two positions a program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneBlock {
    /// The old program.
    pub base: [f64; 2],
    /// The new program.
    pub head: [f64; 2],
    /// The old program again.
    pub control: [f64; 2],
}

/// A system call that both programs make a different number of times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallChange {
    /// The name of the call.
    pub call: String,
    /// The fewest and the most of the old program.
    pub base: [u64; 2],
    /// The fewest and the most of the new program.
    pub head: [u64; 2],
}

/// Another program in the same blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnchorTime {
    /// The program: `bare`, or a backend.
    pub name: String,
    /// The median of elapsed time, in nanoseconds.
    pub wall_ns: f64,
    /// The median of processor time, in nanoseconds.
    pub cpu_ns: f64,
}

/// The estimates of criterion for both programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneEstimates {
    /// Statistic (`mean`, `median`, …) → estimate for the old program, in nanoseconds.
    pub base: BTreeMap<String, CriterionEstimate>,
    /// The same for the new program.
    pub head: BTreeMap<String, CriterionEstimate>,
}

/// One estimate of criterion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionEstimate {
    /// The point estimate.
    pub point: f64,
    /// The lower bound of its interval.
    pub low: f64,
    /// The upper bound of its interval.
    pub high: f64,
}

/// The last line: the record is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingFooter {
    /// The number of measurements.
    pub measurements: u64,
    /// SHA-256 of all bytes before this line, newlines included, lower-case hex.
    pub checksum: String,
}

impl TimingRecord {
    /// Every lane, with its measurement.
    pub fn lanes(&self) -> impl Iterator<Item = (&TimingMeasurement, &LaneResult)> {
        self.measurements.iter().flat_map(|m| m.lanes.iter().map(move |lane| (m, lane)))
    }

    /// The number of lanes with `verdict`.
    #[must_use]
    pub fn count(&self, verdict: TimingVerdict) -> usize {
        self.lanes().filter(|(_, lane)| lane.verdict == verdict).count()
    }
}
