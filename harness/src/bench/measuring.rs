//! One measurement from the screen to its verdicts ([`Measuring`]).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use boxproof_reports::timing::{
    LaneResult, MeasurementFault, TimingLane, TimingMeasurement, TimingVerdict,
};

use super::blocks::{BlockArm, BlockSeries};
use super::catalogue::{BenchWorkload, CatalogueEntry};
use super::prepared_run::{BenchPlaces, PreparedRun};
use super::targets::BenchTargets;
use super::verdict::{CallCounts, LaneConclusion, judge_blocks, judge_counts};
use super::{BenchRequest, PlanSizes};
use crate::sys::measured_child::own_peak_kib;

/// The shortest time that is told apart from the clock's own steps, in ns.
const SHORTEST: f64 = 20.0;

/// One measurement.
#[derive(Debug)]
pub(super) struct Measuring {
    entry: CatalogueEntry,
    series: Option<BlockSeries>,
    lanes: Vec<JudgedLane>,
    fault: Option<MeasurementFault>,
    /// The time that the screen took.
    took: Duration,
}

/// A lane with its conclusion so far.
#[derive(Debug)]
struct JudgedLane {
    lane: TimingLane,
    stage: u8,
    conclusion: LaneConclusion,
}

impl Measuring {
    /// Prepares all programs and takes the blocks of the screen.
    pub(super) fn screen(
        entry: &CatalogueEntry,
        targets: &BenchTargets,
        (directory, probe): (&Path, &Path),
        request: &BenchRequest,
        sizes: PlanSizes,
    ) -> Self {
        let started = Instant::now();
        let mut new = Self::new(entry, None);
        let series = arms(entry.workload, targets, directory, probe).and_then(|arms| {
            BlockSeries::begin(arms, sizes.position).map_err(|fault| MeasurementFault {
                head_only: fault.head_only,
                reason: fault.reason,
            })
        });
        match series {
            Err(fault) => new.fault = Some(fault),
            Ok(mut series) => {
                let lanes = |lane: &TimingLane| request.lanes.contains(lane);
                let is_timed = request.lanes.iter().any(|lane| *lane != TimingLane::Counts);
                if is_timed && let Err(reason) = series.take(sizes.screen, 1) {
                    new.fault = Some(MeasurementFault { head_only: false, reason });
                    return new;
                }
                let measured = series.lanes().into_iter().filter(lanes);
                new.lanes = measured.map(|lane| judged(&series, lane, 1)).collect();
                if lanes(&TimingLane::Counts) && entry.workload.is_counted() {
                    new.lanes.push(counted(&series, sizes.counts[0], 1));
                }
                new.lanes.sort_by_key(|judged| judged.lane);
                new.series = Some(series);
            }
        }
        new.took = started.elapsed();
        new
    }

    /// Returns a measurement that nothing was measured for.
    pub(super) fn without_time(entry: &CatalogueEntry) -> Self {
        let reason = "no time was left: give a larger --budget".to_owned();
        Self::new(entry, Some(MeasurementFault { head_only: false, reason }))
    }

    fn new(entry: &CatalogueEntry, fault: Option<MeasurementFault>) -> Self {
        Self { entry: *entry, series: None, lanes: Vec::new(), fault, took: Duration::ZERO }
    }

    /// The name.
    pub(super) fn id(&self) -> &'static str {
        self.entry.id
    }

    /// Returns whether no lane needs new blocks.
    pub(super) fn is_decided(&self) -> bool {
        !self.lanes.iter().any(JudgedLane::is_open)
    }

    /// Returns whether some lane's screen says `verdict`.
    pub(super) fn has(&self, verdict: TimingVerdict) -> bool {
        self.lanes.iter().any(|judged| judged.is_open() && judged.conclusion.verdict == verdict)
    }

    /// The time that the new blocks will take.
    pub(super) fn confirmation_time(&self, sizes: PlanSizes) -> Duration {
        self.took * sizes.confirm / sizes.screen
    }

    /// Takes new blocks, which alone decide the lanes that are open.
    pub(super) fn confirm(&mut self, sizes: PlanSizes) {
        let Some(series) = &mut self.series else { return };
        let timed = |judged: &&JudgedLane| judged.is_open() && judged.lane != TimingLane::Counts;
        let is_open = self.lanes.iter().any(|judged| timed(&judged));
        if is_open && let Err(reason) = series.take(sizes.confirm, 2) {
            self.fault = Some(MeasurementFault { head_only: false, reason });
            self.lanes.clear();
            return;
        }
        for open in self.lanes.iter_mut().filter(|judged| judged.is_open()) {
            *open = match open.lane {
                TimingLane::Counts => counted(series, sizes.counts[1], 2),
                lane => judged(series, lane, 2),
            };
        }
    }

    /// Leaves open lanes undecided: there is no time for new blocks.
    pub(super) fn give_up(&mut self) {
        for judged in self.lanes.iter_mut().filter(|judged| judged.is_open()) {
            let conclusion = &mut judged.conclusion;
            let screened = conclusion.verdict.name();
            conclusion.reason =
                Some(format!("no time was left to confirm what the screen says: {screened}"));
            conclusion.verdict = TimingVerdict::Inconclusive;
        }
    }

    /// Returns the line of the record.
    pub(super) fn finish(self) -> TimingMeasurement {
        let Self { entry, series, lanes, fault, .. } = self;
        let result = |judged: JudgedLane| {
            let blocks = match (&series, judged.lane) {
                (Some(series), lane) if lane != TimingLane::Counts => series.blocks(lane, None),
                _ => Vec::new(),
            };
            let LaneConclusion { verdict, reason, base, head, ratio, control, calls } =
                judged.conclusion;
            let (lane, stage, unit) = (judged.lane, judged.stage, unit(judged.lane).to_owned());
            let (criterion, blocks) = (None, blocks);
            LaneResult {
                lane,
                unit,
                verdict,
                stage,
                reason,
                base,
                head,
                ratio,
                control,
                blocks,
                calls,
                criterion,
            }
        };
        let lanes = lanes.into_iter().map(result).collect();
        TimingMeasurement {
            id: entry.id.to_owned(),
            per: entry.per.to_owned(),
            runs: series.as_ref().map_or(0, |series| series.runs),
            conditions: series.as_ref().map(|s| s.conditions.clone()).unwrap_or_default(),
            lanes,
            anchors: series.as_ref().map(BlockSeries::anchors).unwrap_or_default(),
            fault,
        }
    }
}

impl JudgedLane {
    fn is_open(&self) -> bool {
        self.stage == 1 && self.conclusion.is_suspect()
    }
}

fn unit(lane: TimingLane) -> &'static str {
    match lane {
        TimingLane::Counts => "calls",
        TimingLane::Faults => "faults",
        TimingLane::Rss => "KiB",
        TimingLane::Cpu | TimingLane::Wall => "ns",
    }
}

fn judged(series: &BlockSeries, lane: TimingLane, stage: u8) -> JudgedLane {
    let conclusion = judge_blocks(lane, &series.blocks(lane, Some(stage)));
    let is_time = matches!(lane, TimingLane::Cpu | TimingLane::Wall);
    let is_hidden = lane == TimingLane::Rss && conclusion.base <= own_peak_kib();
    let conclusion = match (is_time && conclusion.base < SHORTEST, is_hidden) {
        (true, _) => LaneConclusion::unavailable("shorter than the clock can tell"),
        (_, true) => LaneConclusion::unavailable("not more than the process that starts it has"),
        _ => conclusion,
    };
    JudgedLane { lane, stage, conclusion }
}

/// Counts system calls in `runs` runs of each program.
fn counted(series: &BlockSeries, runs: u32, stage: u8) -> JudgedLane {
    let count = |run: &PreparedRun| (0..runs).map(|_| run.count()).collect::<Result<Vec<_>, _>>();
    let [base, head, control] = series.compared().map(count);
    let judge = |base: Vec<CallCounts>, head: Vec<CallCounts>, control: Vec<CallCounts>| {
        judge_counts(&base, &control, &head)
    };
    let conclusion = base
        .and_then(|base| Ok(judge(base, head?, control?)))
        .unwrap_or_else(LaneConclusion::unavailable);
    JudgedLane { lane: TimingLane::Counts, stage, conclusion }
}

/// Prepares the programs of one measurement; the trivial start has others beside it.
fn arms(
    workload: BenchWorkload,
    targets: &BenchTargets,
    directory: &Path,
    probe: &Path,
) -> Result<Vec<BlockArm>, MeasurementFault> {
    let places =
        |name: &str| BenchPlaces { directory: directory.join(name), probe: PathBuf::from(probe) };
    let mut arms = Vec::new();
    let compared = [("base", &targets.base), ("head", &targets.head), ("copy", &targets.control)];
    for (name, backend) in compared {
        let run = PreparedRun::prepare(workload, backend, &places(name));
        let run = run.map_err(|reason| {
            let reason = format!("{name}: {reason}");
            MeasurementFault { head_only: name == "head", reason }
        })?;
        arms.push(BlockArm { name: name.to_owned(), run });
    }
    for (name, backend) in targets.peers.iter().filter(|_| workload == BenchWorkload::TRIVIAL) {
        // A peer that cannot be asked this is not compared.
        if let Ok(run) = PreparedRun::prepare(workload, backend, &places(name)) {
            arms.push(BlockArm { name: name.clone(), run });
        }
    }
    Ok(arms)
}
