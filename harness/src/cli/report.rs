//! `boxproof report`: renders run records that were written before.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use boxproof_reports::timing::TimingRecord;
use boxproof_reports::{ExitCode, badge, html, joined, merge_partial};

use super::outputs::{OutputArgs, annotate};
use super::run::{GITHUB_LIMIT, RunFormat, record};
use super::{CliFailure, FailureDetail, note, print, records, terminal_options, unusable};
use crate::output::{OutputDirectory, ReportOutput};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Run records (NDJSON), or directories of them; several become one matrix.
    #[arg(value_name = "FILE", required = true)]
    records: Vec<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = RunFormat::Terminal)]
    format: RunFormat,
    /// Write the records as one to this file; they must be the parts of one run.
    #[arg(long, value_name = "FILE")]
    merged: Option<PathBuf>,
    /// Write a badge for each backend and profile into this directory.
    #[arg(long, value_name = "DIR")]
    badges: Option<PathBuf>,
    /// Show a timing record, written by `boxproof bench --report`, in the HTML page. Repeatable.
    #[arg(long, value_name = "FILE")]
    timing: Vec<PathBuf>,
    #[command(flatten)]
    outputs: OutputArgs,
    /// The detail of each failure: a line a group of those that are alike, or everything.
    #[arg(long, value_enum, default_value_t)]
    failures: FailureDetail,
    /// List every case, not only those to look at.
    #[arg(long, short)]
    verbose: bool,
}

pub(super) fn run(args: &ReportArgs) -> Result<i32, CliFailure> {
    let pages = args.outputs.open(args.merged.as_deref())?;
    let place = args.merged.as_deref().map(ReportOutput::open).transpose().map_err(unusable)?;
    let runs = records::read_all(&args.records)?;
    let timing: Vec<TimingRecord> =
        args.timing.iter().map(|path| records::read_timing(path)).collect::<Result<_, _>>()?;
    let matrix = merge_partial(&runs).map_err(|error| CliFailure::usage(error.to_string()))?;
    let kept = match place {
        Some(place) => {
            let (header, rows) =
                joined(&runs).map_err(|error| CliFailure::usage(error.to_string()))?;
            let (_, bytes) = record(header, rows, None)?;
            place.write(&bytes).map_err(note).is_ok()
        }
        None => true,
    };
    let kept = pages.write_with_timing(&matrix, &timing) && kept;
    if let Some(path) = &args.badges {
        let directory = OutputDirectory::make(path).map_err(unusable)?;
        for (name, badge) in badge::of_profiles(&matrix) {
            directory.replace(OsStr::new(&name), badge.as_bytes(), 0o666)?;
        }
    }
    match args.format {
        RunFormat::Terminal => {
            print(&boxproof_reports::terminal::render(
                &matrix,
                terminal_options(args.verbose, args.failures),
            ))?;
        }
        RunFormat::Markdown => print(&boxproof_reports::markdown::render(&matrix, GITHUB_LIMIT))?,
        RunFormat::Html => print(&html::render_with_timing(&matrix, &timing))?,
        RunFormat::Ndjson => {
            return Err(CliFailure::usage(
                "a record is already NDJSON: use terminal, markdown or html",
            ));
        }
    }
    annotate(&matrix, &BTreeMap::new());
    let code = match (kept, matrix.rows().next()) {
        (true, Some(_)) => ExitCode::Expected,
        (true, None) => {
            note("the records have no case: nothing was judged");
            ExitCode::Vacuous
        }
        (false, _) => ExitCode::Unlearnt,
    };
    Ok(code.code().into())
}
