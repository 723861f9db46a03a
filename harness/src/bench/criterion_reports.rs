//! Reports by criterion from samples that were measured here: it draws and estimates, and measures
//! nothing itself ([`add_reports`], [`feed_criterion`]).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use boxproof_reports::timing::{
    CriterionEstimate, LaneEstimates, LaneResult, TimingLane, TimingRecord,
};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use serde::{Deserialize, Serialize};

/// The hidden verb under which the program draws: criterion prints, and panics where it cannot
/// write, and both stay in a process of their own.
pub const DRAW_VERB: &str = "__criterion";

/// The name that criterion keeps the old program's samples under.
const BASELINE: &str = "base";
/// The fewest samples that criterion takes.
const FEWEST: usize = 10;

/// The samples of one lane of one measurement, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SampledBench {
    /// The measurement, as a directory.
    group: String,
    /// The lane.
    name: String,
    /// The old program's.
    base: Vec<f64>,
    /// The new program's.
    head: Vec<f64>,
}

/// The order to a drawing process.
#[derive(Debug, Serialize, Deserialize)]
struct DrawOrder {
    directory: PathBuf,
    benches: Vec<SampledBench>,
}

/// Has criterion report on every lane of times of `record` below `directory`, and adds its
/// estimates to the record.
///
/// # Errors
/// A directory that cannot be written, or a process that failed.
pub fn add_reports(record: &mut TimingRecord, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut benches = Vec::new();
    for measurement in &record.measurements {
        let lanes = measurement.lanes.iter().filter(|lane| is_drawn(lane));
        benches.extend(lanes.map(|lane| sampled(&measurement.id, lane)));
    }
    draw_apart(&DrawOrder { directory: directory.to_owned(), benches })?;
    for measurement in &mut record.measurements {
        let group = group_name(&measurement.id);
        for lane in measurement.lanes.iter_mut().filter(|lane| is_drawn(lane)) {
            let place = directory.join(&group).join(lane.lane.keyword());
            let (base, head) = (estimates(&place, BASELINE)?, estimates(&place, "new")?);
            lane.criterion = Some(LaneEstimates { base, head });
        }
    }
    Ok(())
}

fn is_drawn(lane: &LaneResult) -> bool {
    matches!(lane.lane, TimingLane::Cpu | TimingLane::Wall)
        && lane.ratio.is_some()
        && lane.blocks.len() * 2 >= FEWEST
}

fn group_name(id: &str) -> String {
    id.replace('/', "-")
}

fn sampled(id: &str, lane: &LaneResult) -> SampledBench {
    SampledBench {
        group: group_name(id),
        name: lane.lane.keyword().to_owned(),
        base: lane.blocks.iter().flat_map(|block| block.base).collect(),
        head: lane.blocks.iter().flat_map(|block| block.head).collect(),
    }
}

/// Has a process of its own draw.
fn draw_apart(order: &DrawOrder) -> io::Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(DRAW_VERB)
        .env_remove("CARGO_CRITERION_PORT")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&serde_json::to_vec(order)?)?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| line.contains("panicked")).unwrap_or_default();
    Err(io::Error::other(format!("criterion could not draw: {}: {last}", output.status)))
}

/// Draws what standard input orders, and returns the exit code.
pub fn draw() -> i32 {
    let mut text = Vec::new();
    let order = io::stdin().read_to_end(&mut text).map_err(|error| error.to_string());
    let order: Result<DrawOrder, String> =
        order.and_then(|_| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    let order = match order {
        Ok(order) => order,
        Err(error) => {
            eprintln!("{DRAW_VERB}: {error}");
            return 2;
        }
    };
    let saved = |criterion: Criterion| criterion.save_baseline(BASELINE.to_owned());
    draw_side(&order, saved, |bench| &bench.base);
    let compared = |criterion: Criterion| criterion.retain_baseline(BASELINE.to_owned(), false);
    draw_side(&order, compared, |bench| &bench.head);
    0
}

fn draw_side(
    order: &DrawOrder,
    with_baseline: impl FnOnce(Criterion) -> Criterion,
    side: fn(&SampledBench) -> &[f64],
) {
    let mut criterion = with_baseline(criterion_for_samples()).output_directory(&order.directory);
    let mut names: Vec<&String> = order.benches.iter().map(|bench| &bench.group).collect();
    names.dedup();
    for name in names {
        let mut group = criterion.benchmark_group(name.as_str());
        for bench in order.benches.iter().filter(|bench| bench.group == *name) {
            feed_criterion(&mut group, &bench.name, side(bench));
        }
        group.finish();
    }
    criterion.final_summary();
}

/// Returns a criterion that spends no time of its own.
pub fn criterion_for_samples() -> Criterion {
    Criterion::default()
        .nresamples(10_000)
        .warm_up_time(Duration::from_nanos(1))
        .measurement_time(Duration::from_nanos(1))
}

/// Gives `samples`, in nanoseconds, to criterion as those of `name`: each once, in their order;
/// where they are fewer than it takes, from the first again.
pub fn feed_criterion(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, samples: &[f64]) {
    let Some(first) = samples.first() else { return };
    let time = |value: &f64| Duration::from_nanos((*value as u64).max(1));
    let mut next = samples.iter().cycle();
    // Its first call only warms up.
    let mut is_warm = false;
    group.sample_size(samples.len().max(FEWEST)).sampling_mode(SamplingMode::Flat);
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|_| {
            if std::mem::replace(&mut is_warm, true) {
                next.next().map_or(Duration::ZERO, time)
            } else {
                time(first)
            }
        });
    });
}

/// One statistic of `estimates.json`, as far as it is used.
#[derive(Deserialize)]
struct StatisticEstimate {
    confidence_interval: EstimateBounds,
    point_estimate: f64,
}

#[derive(Deserialize)]
struct EstimateBounds {
    lower_bound: f64,
    upper_bound: f64,
}

/// Reads the `estimates.json` that criterion wrote for `kind`, `base` or `new`.
fn estimates(place: &Path, kind: &str) -> io::Result<BTreeMap<String, CriterionEstimate>> {
    let path = place.join(kind).join("estimates.json");
    let fault =
        |error: &dyn std::fmt::Display| io::Error::other(format!("{}: {error}", path.display()));
    let text = fs::read(&path).map_err(|error| fault(&error))?;
    // The slope is null, as samples are single runs.
    let found: BTreeMap<String, Option<StatisticEstimate>> =
        serde_json::from_slice(&text).map_err(|error| fault(&error))?;
    let estimate = |(name, found): (String, Option<StatisticEstimate>)| {
        let StatisticEstimate { confidence_interval: bounds, point_estimate: point } = found?;
        let (low, high) = (bounds.lower_bound, bounds.upper_bound);
        Some((name, CriterionEstimate { point, low, high }))
    };
    Ok(found.into_iter().filter_map(estimate).collect())
}
