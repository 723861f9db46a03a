//! `boxproof bench`: two programs measured block by block, with a verdict for each lane
//! ([`conduct`]). The unit is a block of fresh processes, never a single sample; the old program
//! runs twice in every block, and its difference from itself limits what is concluded.

mod blocks;
mod catalogue;
mod criterion_reports;
mod harness_corpus;
mod host_load;
mod measuring;
mod operations;
mod prepared_run;
mod statistics;
mod targets;
mod verdict;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use boxproof_reports::timing::{TimingHeader, TimingLane, TimingPlan, TimingRecord, TimingVerdict};
use boxproof_reports::{RunUser, UserKind};
use globset::{Glob, GlobSet, GlobSetBuilder};

pub use criterion_reports::{DRAW_VERB, add_reports, criterion_for_samples, draw, feed_criterion};
pub use operations::{VERB as OPERATIONS_VERB, serve as serve_operations};

use crate::host::{HostFacts, PendingTools};
use crate::scratch::{self, ScratchDirectory};
use catalogue::{CATALOGUE, CatalogueEntry};
use measuring::Measuring;
use targets::{BenchTargets, measured_program};

/// The order of a bench.
#[derive(Debug, Clone)]
pub struct BenchRequest {
    /// The backend that both programs are; `native` for programs that speak the protocol.
    pub backend: String,
    /// The old program.
    pub base: PathBuf,
    /// The new program.
    pub head: PathBuf,
    /// Globs of measurements; an empty list is all.
    pub filters: Vec<String>,
    /// The lanes.
    pub lanes: Vec<TimingLane>,
    /// True for the short plan.
    pub quick: bool,
    /// The time after which nothing more is confirmed; by default that of the plan.
    pub budget: Option<Duration>,
    /// The directory in which the scratch directory is made.
    pub scratch: Option<PathBuf>,
    /// The commit of the new program.
    pub commit: Option<String>,
}

/// The reason why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The order cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The host does not let us.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The sizes of a plan.
#[derive(Debug, Clone, Copy)]
struct PlanSizes {
    screen: u32,
    confirm: u32,
    /// How long a position lasts at least, unless that takes too many runs.
    position: Duration,
    budget: Option<Duration>,
    /// Traced runs a program: of the screen, and of the confirmation.
    counts: [u32; 2],
}

/// The plan for a release.
const FULL: PlanSizes = PlanSizes {
    screen: 12,
    confirm: 36,
    position: Duration::from_millis(50),
    budget: None,
    counts: [5, 10],
};

/// The plan for every push.
const QUICK: PlanSizes = PlanSizes {
    screen: 8,
    confirm: 16,
    position: Duration::from_millis(15),
    budget: Some(Duration::from_secs(45)),
    counts: [3, 6],
};

/// Returns the ids of everything that can be measured.
pub fn measurement_ids() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|entry| entry.id)
}

/// Measures and judges; `progress` is told what is measured. Call before any thread exists.
///
/// # Errors
/// Programs that are none, filters that match nothing, or a scratch directory that cannot be made.
pub fn conduct(
    request: &BenchRequest,
    progress: &mut dyn FnMut(&str),
) -> Result<TimingRecord, BenchError> {
    let started = Instant::now();
    let at = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let entries = selected(&request.filters)?;
    let sizes = if request.quick { QUICK } else { FULL };
    let base = request.scratch.clone().unwrap_or_else(scratch::default_base);
    let scratch = ScratchDirectory::make(&base)?;
    let host = HostFacts::detect(&scratch.path, PendingTools::among(&Default::default()));
    let probe = scratch.install_probe()?;
    let programs = (request.base.as_path(), request.head.as_path());
    let targets = BenchTargets::resolve(&request.backend, programs, &scratch.path)?;
    let deadline = request.budget.or(sizes.budget).map(|budget| started + budget);
    let mut open = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        progress(&format!("{} ({} of {})", entry.id, number + 1, entries.len()));
        let directory = scratch.path.join(entry.id.replace('/', "-"));
        open.push(match deadline.is_some_and(|end| Instant::now() > end) {
            true => Measuring::without_time(entry),
            false => Measuring::screen(entry, &targets, (&directory, &probe), request, sizes),
        });
    }
    confirm(&mut open, sizes, deadline, progress);
    let measurements: Vec<_> = open.into_iter().map(Measuring::finish).collect();
    let family = measurements.iter().map(|one| one.lanes.len() as u32).sum();
    let header = TimingHeader {
        format: TimingHeader::FORMAT,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        started: at,
        backend: backend_name(request, &targets),
        base: measured_program(&request.base, &targets.base)?,
        head: measured_program(&request.head, &targets.head)?,
        commit: request.commit.clone(),
        user: RunUser {
            kind: if host.uid == 0 { UserKind::Root } else { UserKind::Ordinary },
            uid: host.uid,
        },
        host: host.report,
        plan: plan(request, sizes, family),
    };
    Ok(TimingRecord { header, measurements })
}

fn backend_name(request: &BenchRequest, targets: &BenchTargets) -> String {
    match request.backend == targets::NATIVE {
        true => file_name(&request.head),
        false => targets.head.name.clone(),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn plan(request: &BenchRequest, sizes: PlanSizes, family: u32) -> TimingPlan {
    TimingPlan {
        quick: request.quick,
        screen_blocks: sizes.screen,
        confirm_blocks: sizes.confirm,
        budget_s: request.budget.or(sizes.budget).map(|budget| budget.as_secs()),
        confidence: statistics::CONFIDENCE,
        lanes: request.lanes.clone(),
        family,
    }
}

/// Has new blocks decide where the screen did not, suspected regressions first.
fn confirm(
    open: &mut [Measuring],
    sizes: PlanSizes,
    deadline: Option<Instant>,
    progress: &mut dyn FnMut(&str),
) {
    for only_regressions in [true, false] {
        for measuring in open.iter_mut() {
            if measuring.is_decided()
                || only_regressions != measuring.has(TimingVerdict::Regression)
            {
                continue;
            }
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left < measuring.confirmation_time(sizes)) {
                measuring.give_up();
                continue;
            }
            progress(&format!("{} again", measuring.id()));
            measuring.confirm(sizes);
        }
    }
}

/// Returns the measurements that `filters` name.
fn selected(filters: &[String]) -> Result<Vec<CatalogueEntry>, BenchError> {
    let globs = globs(filters)?;
    let wanted = |entry: &&CatalogueEntry| filters.is_empty() || globs.is_match(entry.id);
    let found: Vec<CatalogueEntry> = CATALOGUE.iter().filter(wanted).copied().collect();
    if found.is_empty() {
        let ids: Vec<&str> = measurement_ids().collect();
        return Err(BenchError::Usage(format!(
            "no measurement matches {}; there are {}",
            filters.join(", "),
            ids.join(", ")
        )));
    }
    Ok(found)
}

fn globs(filters: &[String]) -> Result<GlobSet, BenchError> {
    let fault = |error: globset::Error| BenchError::Usage(error.to_string());
    let mut set = GlobSetBuilder::new();
    for filter in filters {
        set.add(Glob::new(filter).map_err(fault)?);
    }
    set.build().map_err(fault)
}
