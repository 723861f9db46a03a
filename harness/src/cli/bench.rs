//! `boxproof bench`: two programs measured block by block, the verdicts on stdout, the samples in a
//! file.

use std::path::PathBuf;
use std::time::Duration;

use boxproof_reports::timing::{self, TimingLane, TimingRecord, TimingVerdict};
use boxproof_reports::{ExitCode, wilson_interval};
use clap::ValueEnum;

use super::{CliFailure, note, print, unusable};
use crate::bench::{BenchError, BenchRequest, add_reports, conduct, measurement_ids};
use crate::output::ReportOutput;

const EXAMPLES: &str = "\
Examples:
  boxproof bench --base old/boxproof --quick         this program against an older one
  boxproof bench --base old/boxproof --head new/boxproof --report timing.ndjson
  boxproof bench 'startup/*' --lane counts --base old/boxproof
  boxproof bench --backend bubblewrap --base /usr/bin/bwrap --head ./bwrap
  boxproof bench --backend native --base old/sandbox --head new/sandbox --criterion pages
  boxproof bench --base ./boxproof --self-test 20    how often does it cry wolf here?

Exit codes: 0 no regression, 1 a regression or changed system calls, 2 usage error, 3 nothing
could be decided. `boxproof gate --timing FILE` decides on a release.";

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BenchArgs {
    /// The measurements: globs (`startup/*`); by default all. `--list` names them.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// The old program.
    #[arg(long, value_name = "PROGRAM", required_unless_present = "list")]
    base: Option<PathBuf>,
    /// The new program; by default this one.
    #[arg(long, value_name = "PROGRAM")]
    head: Option<PathBuf>,
    /// What both programs are: a boxproof with its reference (`reference:bubblewrap` picks a
    /// mechanism), a shipped NAME or FILE.yaml whose program they are, or `native` where they
    /// speak the protocol themselves.
    #[arg(long, value_name = "BACKEND", default_value = "reference")]
    backend: String,
    /// A lane to measure; by default all. Repeatable.
    #[arg(long = "lane", value_name = "LANE", value_enum)]
    lanes: Vec<BenchLane>,
    /// The short plan: fewer and shorter blocks, done within a minute on two idle cores.
    #[arg(long)]
    quick: bool,
    /// The time after which nothing more is confirmed, in seconds.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// Write the timing record (NDJSON) to this file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Have criterion draw its pages from the samples, below this directory.
    #[arg(long, value_name = "DIR")]
    criterion: Option<PathBuf>,
    /// The commit of the new program, for the record; by default what GITHUB_SHA says.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Measure the old program against itself N times, and tell how often that is red.
    #[arg(long, value_name = "N", conflicts_with_all = ["head", "report", "criterion"])]
    self_test: Option<u32>,
    /// List the measurements.
    #[arg(long)]
    list: bool,
}

/// A lane, as on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchLane {
    /// System calls, call by call.
    Counts,
    /// Minor page faults.
    Faults,
    /// The largest resident set.
    Rss,
    /// Processor time.
    Cpu,
    /// Elapsed time.
    Wall,
}

impl From<BenchLane> for TimingLane {
    fn from(lane: BenchLane) -> Self {
        match lane {
            BenchLane::Counts => Self::Counts,
            BenchLane::Faults => Self::Faults,
            BenchLane::Rss => Self::Rss,
            BenchLane::Cpu => Self::Cpu,
            BenchLane::Wall => Self::Wall,
        }
    }
}

impl From<BenchError> for CliFailure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Usage(message) => Self::usage(message),
            BenchError::Io(error) => error.into(),
        }
    }
}

pub(super) fn run(args: &BenchArgs) -> Result<i32, CliFailure> {
    if args.list {
        let ids: String = measurement_ids().map(|id| format!("{id}\n")).collect();
        print(&ids)?;
        return Ok(0);
    }
    let request = request(args)?;
    if let Some(times) = args.self_test {
        return self_test(&request, times);
    }
    let place = args.report.as_deref().map(ReportOutput::open).transpose().map_err(unusable)?;
    let mut record = conduct(&request, &mut |what| note(format_args!("measuring {what}")))?;
    if let Some(directory) = &args.criterion {
        add_reports(&mut record, directory)
            .map_err(|error| CliFailure::usage(format!("--criterion: {error}")))?;
    }
    let bytes = timing::write(&record)
        .map_err(|error| CliFailure::usage(format!("the record is broken: {error}")))?;
    // The verdicts are printed, even if the record cannot be written.
    let kept = place.map_or(Ok(()), |place| place.write(&bytes)).map_err(note);
    print(&timing::render(&record))?;
    let code = if kept.is_ok() { exit_code(&record) } else { ExitCode::Unlearnt };
    Ok(i32::from(code.code()))
}

fn request(args: &BenchArgs) -> Result<BenchRequest, CliFailure> {
    let base = args.base.clone().unwrap_or_default();
    let head = match (&args.head, args.self_test) {
        (_, Some(_)) => base.clone(),
        (Some(head), None) => head.clone(),
        (None, None) => super::me()?,
    };
    let lanes = match args.lanes.is_empty() {
        true => TimingLane::ALL.to_vec(),
        false => TimingLane::ALL
            .into_iter()
            .filter(|lane| args.lanes.iter().any(|named| TimingLane::from(*named) == *lane))
            .collect(),
    };
    Ok(BenchRequest {
        backend: args.backend.clone(),
        base,
        head,
        filters: args.filters.clone(),
        lanes,
        quick: args.quick,
        budget: args.budget.map(Duration::from_secs),
        scratch: args.scratch.clone(),
        commit: args.commit.clone().or_else(|| std::env::var("GITHUB_SHA").ok()),
    })
}

fn exit_code(record: &TimingRecord) -> ExitCode {
    let count = |verdict: TimingVerdict| record.count(verdict);
    let undecided = count(TimingVerdict::Inconclusive) + count(TimingVerdict::Unavailable);
    let head_failed = record
        .measurements
        .iter()
        .any(|measurement| measurement.fault.as_ref().is_some_and(|fault| fault.head_only));
    if count(TimingVerdict::Regression) + count(TimingVerdict::Changed) > 0 || head_failed {
        ExitCode::Unexpected
    } else if undecided == record.lanes().count() {
        ExitCode::Unlearnt
    } else {
        ExitCode::Expected
    }
}

/// Measures the old program against itself, again and again: everything red is a false alarm.
fn self_test(request: &BenchRequest, times: u32) -> Result<i32, CliFailure> {
    let mut alarms = 0;
    for number in 1..=times {
        let mut progress =
            |what: &str| note(format_args!("self-test {number} of {times}: measuring {what}"));
        let record = conduct(request, &mut progress)?;
        let counts: String = TimingVerdict::ALL
            .into_iter()
            .filter(|verdict| record.count(*verdict) > 0)
            .map(|verdict| format!(", {} {}", record.count(verdict), verdict.name()))
            .collect();
        print(&format!("run {number:>3}: {} lanes{counts}\n", record.lanes().count()))?;
        let red = |verdict| matches!(verdict, TimingVerdict::Regression | TimingVerdict::Changed);
        for (measurement, lane) in record.lanes().filter(|(_, lane)| red(lane.verdict)) {
            print(&format!("         {} {}\n", measurement.id, timing::lane_line(lane)))?;
        }
        alarms += u32::from(exit_code(&record) == ExitCode::Unexpected);
    }
    let (low, high) = wilson_interval(alarms, times);
    let (low, high) = (low * 100.0, high * 100.0);
    print(&format!(
        "false alarms: {alarms} of {times} runs; the rate is {low:.1} to {high:.1} % (95 %)\n"
    ))?;
    Ok(i32::from(alarms > 0))
}
