//! `boxproof run`: cases against backends, the matrix on stdout, the record in a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use boxproof_cases::{FrozenSet, Suite};
use boxproof_reports::{
    CaseRow, ExitCode, ExitOptions, RecordWriter, Run, Shard, exit_code, merge_partial, printable,
    summary_line,
};
use clap::ValueEnum;
use nix::sys::signal::Signal;

use super::blind::SecondLook;
use super::follow::RunFollower;
use super::outputs::{OutputArgs, PageOutputs, annotate};
use super::user::{UserArgs, become_run_user};
use super::values::{parse_base_url, parse_jobs};
use super::{
    CaseArgs, CliFailure, FailureDetail, backends, note, print, records, terminal_options, unusable,
};
use crate::backend::{Backend, REFERENCE, SettledUser, plain_cases};
use crate::blind::SampleShare;
use crate::case_sets;
use crate::known::KnownFailures;
use crate::output::ReportOutput;
use crate::plain_file;
use crate::plan::{PairScope, PlainCases};
use crate::project::RunSettings;
use crate::selection::{CaseSelection, parse_shard};
use crate::session::{CompletedRun, RunConclusion, SessionRequest, conduct, tools_for};
use crate::sys;
use crate::termination::Termination;

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    cases: CaseArgs,
    /// A backend: a shipped NAME (`reference:bubblewrap` picks a mechanism), a PROGRAM that speaks
    /// the protocol, or a manifest FILE.yaml. Repeatable; by default the reference.
    #[arg(long = "backend", value_name = "BACKEND")]
    backends: Vec<String>,
    /// The number of CPU-bound arms in flight; by default twice the cores.
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<usize>,
    /// Write the run record (NDJSON) to this file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = RunFormat::Terminal)]
    format: RunFormat,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Failures of `should` and `may` count, too.
    #[arg(long)]
    strict: bool,
    /// A backend that is not installed is no failure.
    #[arg(long)]
    allow_missing: bool,
    /// The known failures of the one backend, instead of the list beside its manifest.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
    /// Run cases even where the backend does not claim what they need.
    #[arg(long)]
    all: bool,
    /// Ask for what a backend does not claim as well, by one plain case a capability: `gap` where it
    /// does not do it, `contradiction` where it does. `boxproof matrix` does so.
    #[arg(long, conflicts_with = "all")]
    gaps: bool,
    /// Run only part I of N of what is selected; `report` and `gate` merge the records of all parts.
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    shard: Option<Shard>,
    /// Run one plain case a capability (`quick`), or what a profile of the frozen set requires
    /// (`core`), or the whole set (its version).
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    /// Run only what failed, or was not learnt, in this run record.
    #[arg(long, value_name = "RECORD")]
    last_failed: Option<PathBuf>,
    /// End the run with the first failure that counts.
    #[arg(long)]
    fail_fast: bool,
    /// Run everything N times and tell how often each case fails; a case that failed once has failed.
    #[arg(long, value_name = "N", conflicts_with = "blind", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    stress: Option<u32>,
    /// Show the N rows that took longest.
    #[arg(long, value_name = "N", default_value_t = 0)]
    durations: usize,
    /// The commit that is judged, for the record; by default what GITHUB_SHA says.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// The URL of the corpus's files, for links in the record and its pages.
    #[arg(long, value_name = "URL", value_parser = parse_base_url)]
    base_url: Option<String>,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    second_look: SecondLook,
    #[command(flatten)]
    who: UserArgs,
    /// The detail of each failure: a line a group of those that are alike, or everything.
    #[arg(long, value_enum, default_value_t)]
    failures: FailureDetail,
    /// List every case, not only those to look at.
    #[arg(long, short)]
    verbose: bool,
}

/// The cases of a run, and how they are asked.
struct RunQuestion {
    suite: Suite,
    selection: CaseSelection,
    blind: Option<SampleShare>,
    reproduce: String,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RunFormat {
    /// The matrix, for people.
    Terminal,
    /// The matrix, for GitHub's job summary.
    Markdown,
    /// The matrix as one offline HTML file, with filters and every cell in detail.
    Html,
    /// The run record itself.
    Ndjson,
}

impl RunArgs {
    /// Takes what was not typed from the project file, else from the defaults.
    fn adopt_project(&mut self) -> Result<RunSettings, CliFailure> {
        let settings = match self.cases.corpus.project.read()? {
            Some((file, project)) => {
                note(format_args!("settings of {}", file.display()));
                project.run
            }
            None => RunSettings::default(),
        };
        if self.backends.is_empty() {
            self.backends = settings.backends.clone();
            // It is about these backends.
            self.known = self.known.take().or_else(|| settings.known.clone());
        }
        if self.backends.is_empty() {
            self.backends.push(REFERENCE.to_owned());
        }
        let is_selected = self.set.is_some() || self.last_failed.is_some();
        if !is_selected && !self.cases.is_typed() {
            self.set.clone_from(&settings.set);
        }
        self.jobs = self.jobs.or(settings.jobs);
        self.strict |= settings.strict;
        Ok(settings)
    }

    /// Narrows `selection` to the set, and to what failed, as asked for.
    fn narrowed(&self, selection: CaseSelection) -> Result<CaseSelection, CliFailure> {
        let selection = match &self.set {
            Some(name) => {
                let ids = case_sets::ids(name);
                let ids = ids.map_err(|error| CliFailure::usage(format!("--set: {error}")))?;
                selection.narrowed(format!("set {name}"), ids)
            }
            None => selection,
        };
        Ok(match &self.last_failed {
            Some(path) => {
                let name = format!("failed in {}", path.display());
                selection.narrowed(name, records::failed_ids(path)?)
            }
            None => selection,
        })
    }
}

pub(super) fn run(mut args: RunArgs) -> Result<i32, CliFailure> {
    let settings = args.adopt_project()?;
    let args = &args;
    let cases = args.cases.settle_by(&settings);
    let (blind, filter) = args.second_look.read()?;
    let selection = args.narrowed(cases.selection(filter)?.part(args.shard))?;
    let suite = cases.suite_of(&selection)?;
    let reproduce =
        cases.corpus.reproduce() + &args.cases.corpus.project.reproduce() + &args.who.reproduce();
    let question = RunQuestion { suite, selection, blind, reproduce };
    let report = args.report.as_deref().map(ReportOutput::open).transpose();
    let mut report = report.map_err(unusable)?;
    let mut pages = args.outputs.open(args.report.as_deref())?;
    // The one who typed may write where the one who runs may not.
    let settled = become_run_user(&args.who, &args.backends, || {
        let kept = report.take().map(ReportOutput::keep_rights).transpose();
        report = kept?;
        pages = std::mem::take(&mut pages).keep_rights()?;
        Ok(())
    })?;
    // From here on there are processes to clean up.
    let termination = Termination::catch()?;
    sys::subreaper()?;
    sys::deny_tracing()?;
    let begun = Instant::now();
    let concluded = conclude(args, question, &settled);
    match (concluded, termination.release()) {
        (Ok(RunConclusion::Interrupted(signal, finished)), _) => {
            keep((report, pages), *finished, signal)
        }
        (Ok(RunConclusion::Finished(finished)), Some(signal)) => {
            keep((report, pages), *finished, signal)
        }
        (Err(failure), Some(signal)) => {
            note(format_args!("ended by {signal}; nothing is kept: {}", failure.message));
            Ok(128 + signal as i32)
        }
        (Err(failure), None) => Err(failure),
        (Ok(RunConclusion::Finished(finished)), None) => {
            finish(args, (report, pages), *finished, begun.elapsed())
        }
    }
}

/// Asks the backends what they can do, and runs what is selected.
fn conclude(
    args: &RunArgs,
    question: RunQuestion,
    settled: &SettledUser,
) -> Result<RunConclusion, CliFailure> {
    let RunQuestion { suite, selection, blind, reproduce } = question;
    let frozen = suite.is_embedded().then(FrozenSet::newest).transpose();
    let frozen = frozen.map_err(CliFailure::usage)?;
    // They start up while the backends are asked.
    let tools = tools_for(&suite, &selection);
    let mut backends = backends(&args.backends, settled)?;
    if let Some(file) = &args.known {
        excuse(&mut backends, file)?;
    }
    let request = SessionRequest {
        suite,
        selection,
        backends,
        all: args.all,
        plain: plain(args.gaps)?,
        scope: PairScope::Every,
        strict: args.strict,
        jobs: args.jobs,
        scratch: args.scratch.clone(),
        set: frozen,
        commit: args.commit.clone().or_else(|| std::env::var("GITHUB_SHA").ok()),
        base_url: args.base_url.clone(),
        blind,
        stress: args.stress,
        reproduce,
    };
    let mut follower = RunFollower::new(args.fail_fast.then_some(args.strict));
    Ok(conduct(&request, tools, &mut follower)?)
}

/// Returns the first plain case of each capability, if what is not claimed is asked for.
fn plain(gaps: bool) -> Result<PlainCases, CliFailure> {
    if !gaps {
        return Ok(PlainCases::new());
    }
    let listed = plain_cases().map_err(|error| CliFailure::usage(error.to_string()))?;
    let first = |(capability, ids): (_, Vec<String>)| Some((capability, ids.into_iter().next()?));
    Ok(listed.into_iter().filter_map(first).collect())
}

/// Gives the only one of `backends` the known failures in `file`.
fn excuse(backends: &mut [Backend], file: &Path) -> Result<(), CliFailure> {
    let [backend] = backends else {
        return Err(CliFailure::usage("--known: a list is about one backend; name one --backend"));
    };
    let text = plain_file::read_text(file, KNOWN_LIMIT).map_err(|error| {
        CliFailure::usage(format!("--known {}: cannot be read: {error}", file.display()))
    })?;
    let known = KnownFailures::parse(file, &text, &backend.name);
    backend.known = known.map_err(|error| CliFailure::usage(error.to_string()))?;
    Ok(())
}

/// Keeps what was judged before `signal` came; returns the exit code.
fn keep(
    (report, pages): (Option<ReportOutput>, PageOutputs),
    finished: CompletedRun,
    signal: Signal,
) -> Result<i32, CliFailure> {
    let by = finished.interrupted.clone().unwrap_or_else(|| signal.to_string());
    let rows = finished.rows.len();
    let (run, record) = record(finished.header, finished.rows, Some(&by))?;
    let what = match report.map(|report| report.write(&record)) {
        None => "nothing is kept without --report".to_owned(),
        Some(Ok(())) => format!("the record has the {rows} rows that there are, and says so"),
        Some(Err(error)) => error.to_string(),
    };
    note(format_args!("ended by {by}; {what}"));
    let runs = [run];
    let matrix = merge_partial(&runs).map_err(|error| CliFailure::usage(error.to_string()))?;
    pages.write(&matrix);
    Ok(128 + signal as i32)
}

fn finish(
    args: &RunArgs,
    (report, pages): (Option<ReportOutput>, PageOutputs),
    finished: CompletedRun,
    took: Duration,
) -> Result<i32, CliFailure> {
    let (run, record) = record(finished.header, finished.rows, finished.interrupted.as_deref())?;
    // The matrix is printed, even if the record cannot be written.
    let kept = report.map_or(Ok(()), |report| report.write(&record)).map_err(note);
    let runs = [run];
    let [run] = &runs;
    let matrix = merge_partial(&runs).map_err(|error| CliFailure::usage(error.to_string()))?;
    let kept = kept.is_ok() & pages.write(&matrix);
    let timed = |page: String| timed(&page, &run.rows, args.durations, took);
    match args.format {
        RunFormat::Ndjson => print(&String::from_utf8_lossy(&record))?,
        RunFormat::Markdown => print(&boxproof_reports::markdown::render(&matrix, GITHUB_LIMIT))?,
        RunFormat::Html => print(&boxproof_reports::html::render(&matrix))?,
        RunFormat::Terminal if run.rows.is_empty() => {
            print(&timed(format!("{}\n", summary_line(&run.rows))))?;
        }
        RunFormat::Terminal => {
            let options = terminal_options(args.verbose, args.failures);
            print(&timed(boxproof_reports::terminal::render(&matrix, options)))?;
        }
    }
    for missing in run.header.backends.iter().filter_map(|backend| backend.missing.as_ref()) {
        note(missing);
    }
    for stale in &finished.stale {
        note(stale);
    }
    let options = ExitOptions { strict: args.strict, allow_missing: args.allow_missing };
    annotate(&matrix, &manifests(args, run));
    if !kept {
        return Ok(i32::from(ExitCode::Unlearnt.code()));
    }
    let code = exit_code(&run.rows, options, &run.header.backends).code();
    // A list of known failures that is wrong is as red as a failure.
    Ok(i32::from(if code == 0 && !finished.stale.is_empty() { 1 } else { code }))
}

/// Returns the files that the backends of `run` were named by: a finding on a built-in case belongs
/// there, for the reader's repository has no file of that case.
fn manifests(args: &RunArgs, run: &Run) -> BTreeMap<String, String> {
    let named = run.header.backends.iter().zip(&args.backends);
    let files = named.filter_map(|(backend, spec)| {
        let is_file = [".yaml", ".yml", "/"].iter().any(|part| spec.contains(part));
        let file = is_file.then(|| Path::new(spec).canonicalize().ok()).flatten()?;
        Some((backend.name.clone(), file.to_str()?.to_owned()))
    });
    files.collect()
}

/// Returns `page`, with the `slowest` rows before its last line, and the duration of the run in it.
fn timed(page: &str, rows: &[CaseRow], slowest: usize, took: Duration) -> String {
    let page = page.trim_end_matches('\n');
    let (body, last) = page
        .rsplit_once('\n')
        .map_or((String::new(), page), |(body, last)| (format!("{body}\n"), last));
    let mut rows: Vec<&CaseRow> = rows.iter().collect();
    rows.sort_by(|a, b| b.duration_ms.total_cmp(&a.duration_ms));
    rows.truncate(slowest);
    let line = |row: &&CaseRow| {
        printable(&format!("  {:>8.0} ms  {}: {}", row.duration_ms, row.backend, row.id)) + "\n"
    };
    let slowest: String = match rows.is_empty() {
        true => String::new(),
        false => format!("slowest\n{}\n", rows.iter().map(line).collect::<String>()),
    };
    format!("{body}{slowest}{last} in {:.1} s\n", took.as_secs_f64())
}

/// The most bytes of a list of known failures.
const KNOWN_LIMIT: u64 = 1 << 20;

/// The most bytes GitHub takes for a job summary.
pub(super) const GITHUB_LIMIT: usize = 65_535;

/// Returns the record as written, and as read back: the output shows the record as a reader sees
/// it.
pub(super) fn record(
    header: boxproof_reports::Header,
    rows: Vec<CaseRow>,
    interrupted: Option<&str>,
) -> Result<(Run, Vec<u8>), CliFailure> {
    let broken = |error: String| CliFailure::usage(format!("the record is broken: {error}"));
    let mut writer =
        RecordWriter::new(Vec::new(), &header).map_err(|error| broken(error.to_string()))?;
    for row in &rows {
        writer.row(row).map_err(|error| broken(error.to_string()))?;
    }
    let ended = match interrupted {
        None => writer.finish(),
        Some(by) => writer.finish_interrupted(by),
    };
    let (footer, bytes) = ended.map_err(|error| broken(error.to_string()))?;
    Ok((Run { header, rows, footer }, bytes))
}
