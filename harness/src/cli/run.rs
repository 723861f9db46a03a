//! `boxproof run`: cases against backends, the matrix on stdout, the record in a file.

use std::io::IsTerminal;
use std::path::PathBuf;

use boxproof_cases::Suite;
use boxproof_reports::{ExitCode, ExitOptions, RecordWriter, Run, exit_code, merge, summary_line};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use super::blind::SecondLook;
use super::outputs::{OutputArgs, PageOutputs, annotate};
use super::user::{Who, settle};
use super::{Cases, Failure, backends, note, print, terminal_options, unusable};
use crate::backend::SettledUser;
use crate::blind::Share;
use crate::output::ReportOutput;
use crate::selection::Selection;
use crate::session::{Conclusion, Finished, Request, conduct, tools_for};
use crate::sys;
use crate::termination::Termination;

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    cases: Cases,
    /// A backend: a shipped NAME (`reference:bubblewrap` picks a mechanism), a PROGRAM that speaks
    /// the protocol, or a manifest FILE.yaml. Repeatable.
    #[arg(long = "backend", value_name = "BACKEND", default_value = "reference")]
    backends: Vec<String>,
    /// The number of CPU-bound arms in flight; by default twice the cores.
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Write the run record (NDJSON) to this file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// The directory in which the scratch directory is made.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Failures of `should` and `may` count, too.
    #[arg(long)]
    strict: bool,
    /// A backend that is not installed is no failure.
    #[arg(long)]
    allow_missing: bool,
    /// Run cases even where the backend does not claim what they need.
    #[arg(long)]
    all: bool,
    /// The commit that is judged, for the record; by default what GITHUB_SHA says.
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// The URL of the corpus's files, for links in the record and its pages.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    second_look: SecondLook,
    #[command(flatten)]
    who: Who,
    /// List every case, not only those to look at.
    #[arg(long, short)]
    verbose: bool,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The matrix, for people.
    Terminal,
    /// The matrix, for GitHub's job summary.
    Markdown,
    /// The matrix as one offline HTML file, with filters and every cell in detail.
    Html,
    /// The run record itself.
    Ndjson,
}

pub(super) fn run(args: &Args) -> Result<i32, Failure> {
    let suite = args.cases.suite()?;
    let (blind, filter) = args.second_look.read()?;
    let selection = args.cases.selection_and(&suite, filter)?;
    let report = args.report.as_deref().map(ReportOutput::open).transpose();
    let mut report = report.map_err(unusable)?;
    let mut pages = args.outputs.open(args.report.as_deref())?;
    // The one who typed may write where the one who runs may not.
    let settled = settle(&args.who, &args.backends, || {
        let kept = report.take().map(ReportOutput::keep_rights).transpose();
        report = kept?;
        pages = std::mem::take(&mut pages).keep_rights()?;
        Ok(())
    })?;
    // From here on there are processes to clean up.
    let termination = Termination::catch()?;
    sys::subreaper()?;
    sys::deny_tracing()?;
    let concluded = conclude(args, (suite, selection), blind, &settled);
    match termination.release() {
        Some(signal) => {
            note(format_args!("ended by {signal}; nothing is concluded"));
            Ok(128 + signal as i32)
        }
        None => finish(args, (report, pages), concluded?),
    }
}

/// Asks the backends what they can do, and runs what is selected.
fn conclude(
    args: &Args,
    (suite, selection): (Suite, Selection),
    blind: Option<Share>,
    settled: &SettledUser,
) -> Result<Finished, Failure> {
    // They start up while the backends are asked.
    let tools = tools_for(&suite, &selection);
    let backends = backends(&args.backends, settled)?;
    let request = Request {
        suite,
        selection,
        backends,
        all: args.all,
        strict: args.strict,
        jobs: args.jobs,
        scratch: args.scratch.clone(),
        commit: args.commit.clone().or_else(|| std::env::var("GITHUB_SHA").ok()),
        base_url: args.base_url.clone(),
        blind,
        reproduce: args.cases.reproduce() + &args.who.reproduce(),
    };
    let bar = progress_bar();
    let concluded = conduct(&request, tools, |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    match concluded {
        Conclusion::Finished(finished) => Ok(*finished),
        Conclusion::Interrupted(signal) => Err(Failure::usage(format!("ended by {signal}"))),
    }
}

/// Makes the progress bar, shown on a terminal only.
fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} arms  {elapsed}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn finish(
    args: &Args,
    (report, pages): (Option<ReportOutput>, PageOutputs),
    finished: Finished,
) -> Result<i32, Failure> {
    let (run, record) = record(finished.header, finished.rows)?;
    // The matrix is printed, even if the record cannot be written.
    let kept = report.map_or(Ok(()), |report| report.write(&record)).map_err(note);
    let runs = [run];
    let [run] = &runs;
    let matrix = merge(&runs).map_err(|error| Failure::usage(error.to_string()))?;
    let kept = kept.is_ok() & pages.write(&matrix);
    match args.format {
        Format::Ndjson => print(&String::from_utf8_lossy(&record))?,
        Format::Markdown => print(&boxproof_reports::markdown::render(&matrix, GITHUB_LIMIT))?,
        Format::Html => print(&boxproof_reports::html::render(&matrix))?,
        Format::Terminal if run.rows.is_empty() => {
            print(&format!("{}\n", summary_line(&run.rows)))?;
        }
        Format::Terminal => {
            print(&boxproof_reports::terminal::render(&matrix, terminal_options(args.verbose)))?;
        }
    }
    for missing in run.header.backends.iter().filter_map(|backend| backend.missing.as_ref()) {
        note(missing);
    }
    for stale in &finished.stale {
        note(stale);
    }
    let options = ExitOptions { strict: args.strict, allow_missing: args.allow_missing };
    annotate(&matrix);
    if !kept {
        return Ok(i32::from(ExitCode::Unlearnt.code()));
    }
    let code = exit_code(&run.rows, options, &run.header.backends).code();
    // A list of known failures that is wrong is as red as a failure.
    Ok(i32::from(if code == 0 && !finished.stale.is_empty() { 1 } else { code }))
}

/// The most bytes GitHub takes for a job summary.
pub(super) const GITHUB_LIMIT: usize = 65_535;

/// Returns the record as written, and as read back: the output shows the record as a reader sees
/// it.
pub(super) fn record(
    header: boxproof_reports::Header,
    rows: Vec<boxproof_reports::CaseRow>,
) -> Result<(Run, Vec<u8>), Failure> {
    let broken = |error: String| Failure::usage(format!("the record is broken: {error}"));
    let mut writer =
        RecordWriter::new(Vec::new(), &header).map_err(|error| broken(error.to_string()))?;
    for row in &rows {
        writer.row(row).map_err(|error| broken(error.to_string()))?;
    }
    let (footer, bytes) = writer.finish().map_err(|error| broken(error.to_string()))?;
    Ok((Run { header, rows, footer }, bytes))
}
