//! Blocks of fresh processes ([`BlockSeries`]): in each, every program has two positions, placed
//! as a mirror (A B B A), so that drift hits all alike; the order changes from block to block.

use std::time::{Duration, Instant};

use boxproof_reports::timing::{AnchorTime, BlockCondition, LaneBlock, TimingLane};

use super::host_load::HostLoad;
use super::prepared_run::{PreparedRun, RunValues};
use super::statistics::median;

/// The most runs of one position.
const MOST_RUNS: u32 = 15;

/// One program in a series.
#[derive(Debug)]
pub(super) struct BlockArm {
    /// The name in the record.
    pub(super) name: String,
    pub(super) run: PreparedRun,
}

/// The blocks of one measurement, of which more can be taken.
#[derive(Debug)]
pub(super) struct BlockSeries {
    /// Base, head and control, then anchors.
    arms: Vec<BlockArm>,
    /// The runs of one position.
    pub(super) runs: u32,
    pub(super) conditions: Vec<BlockCondition>,
    /// Block → arm → its two positions.
    positions: Vec<Vec<[RunValues; 2]>>,
}

/// The reason why a series cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SeriesFault {
    /// True if base and control ran, and the new program did not.
    pub(super) head_only: bool,
    pub(super) reason: String,
}

/// The index of the new program among the arms.
const HEAD: usize = 1;
/// The number of programs that are compared; the others are anchors.
const COMPARED: usize = 3;

impl BlockSeries {
    /// Warms every program up and settles how often it runs in a position, so that it lasts
    /// `position`. Anchors that do not run are left out.
    ///
    /// # Errors
    /// A program that does not run.
    pub(super) fn begin(arms: Vec<BlockArm>, position: Duration) -> Result<Self, SeriesFault> {
        let mut warm = Vec::new();
        let started = Instant::now();
        // The new program last: a fault of the old one is no fault of the new one.
        for index in [0, 2, HEAD] {
            let one = arms[index].run.measure();
            let fault = |reason| SeriesFault {
                head_only: index == HEAD,
                reason: format!("{}: {reason}", arms[index].name),
            };
            warm.push(one.map_err(fault)?);
        }
        let took = started.elapsed() / COMPARED as u32;
        let runs = position.as_nanos().div_ceil(took.as_nanos().max(1));
        let runs = u32::try_from(runs).unwrap_or(MOST_RUNS).clamp(1, MOST_RUNS);
        let runs_here =
            |(index, arm): &(usize, BlockArm)| *index < COMPARED || arm.run.measure().is_ok();
        let arms = arms.into_iter().enumerate().filter(runs_here).map(|(_, arm)| arm).collect();
        Ok(Self { arms, runs, conditions: Vec::new(), positions: Vec::new() })
    }

    /// Takes `count` more blocks for `stage`.
    ///
    /// # Errors
    /// A run that failed.
    pub(super) fn take(&mut self, count: u32, stage: u8) -> Result<(), String> {
        for _ in 0..count {
            let order = self.order(self.positions.len());
            let before = HostLoad::now();
            let mut block = vec![[RunValues::new(), RunValues::new()]; self.arms.len()];
            for (side, arms) in [(0, order.clone()), (1, order.iter().rev().copied().collect())] {
                for arm in arms {
                    block[arm][side] = self.position(arm)?;
                }
            }
            let names: String = order.iter().chain(order.iter().rev()).map(letter).collect();
            self.conditions.push(before.condition(stage, names));
            self.positions.push(block);
        }
        Ok(())
    }

    /// The first half of block `index`: each program leads in turn, and every other block is
    /// reversed.
    fn order(&self, index: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.arms.len()).collect();
        order.rotate_left((index / 2) % self.arms.len());
        if index % 2 == 1 {
            order.reverse();
        }
        order
    }

    fn position(&self, arm: usize) -> Result<RunValues, String> {
        let BlockArm { name, run } = &self.arms[arm];
        let runs: Result<Vec<RunValues>, String> = (0..self.runs).map(|_| run.measure()).collect();
        let runs = runs.map_err(|reason| format!("{name}: {reason}"))?;
        let lanes = runs.first().map(|run| run.keys().copied().collect::<Vec<_>>());
        let middle = |lane: TimingLane| {
            median(&runs.iter().filter_map(|run| run.get(&lane).copied()).collect::<Vec<_>>())
        };
        Ok(lanes.unwrap_or_default().into_iter().map(|lane| (lane, middle(lane))).collect())
    }

    /// The lanes that there are values for.
    pub(super) fn lanes(&self) -> Vec<TimingLane> {
        let first = self.positions.first().and_then(|block| block.first());
        first.map(|[values, _]| values.keys().copied().collect()).unwrap_or_default()
    }

    /// The blocks of one lane, of one stage or of all.
    pub(super) fn blocks(&self, lane: TimingLane, stage: Option<u8>) -> Vec<LaneBlock> {
        let wanted = self.conditions.iter().map(|one| stage.is_none_or(|stage| one.stage == stage));
        let values = |arm: &[RunValues; 2]| {
            [&arm[0], &arm[1]].map(|values| values.get(&lane).copied().unwrap_or_default())
        };
        let blocks = self.positions.iter().zip(wanted).filter(|(_, wanted)| *wanted);
        blocks
            .map(|(block, _)| LaneBlock {
                base: values(&block[0]),
                head: values(&block[HEAD]),
                control: values(&block[2]),
            })
            .collect()
    }

    /// The medians of the programs that are there for comparison.
    pub(super) fn anchors(&self) -> Vec<AnchorTime> {
        let middle = |arm: usize, lane: TimingLane| {
            let blocks = self.positions.iter().flat_map(|block| &block[arm]);
            median(&blocks.filter_map(|values| values.get(&lane).copied()).collect::<Vec<_>>())
        };
        let anchor = |arm: usize| AnchorTime {
            name: self.arms[arm].name.clone(),
            wall_ns: middle(arm, TimingLane::Wall),
            cpu_ns: middle(arm, TimingLane::Cpu),
        };
        let is_measured = |arm: &usize| !self.positions.is_empty() && *arm >= COMPARED;
        (0..self.arms.len()).filter(is_measured).map(anchor).collect()
    }

    /// The three programs that are compared: base, head and control.
    pub(super) fn compared(&self) -> [&PreparedRun; COMPARED] {
        [&self.arms[0].run, &self.arms[HEAD].run, &self.arms[2].run]
    }
}

/// The letter of an arm in the record.
fn letter(arm: &usize) -> char {
    const LETTERS: [char; 8] = ['B', 'H', 'C', 'a', 'b', 'c', 'd', 'e'];
    LETTERS.get(*arm).copied().unwrap_or('?')
}
