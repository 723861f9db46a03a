//! `boxproof compare`: run records beside the table of outcomes that was made by hand.

use std::path::{Path, PathBuf};

use boxproof_reports::compare::{ByHand, compare, page, render};
use boxproof_reports::merge;
use clap::ValueEnum;

use super::{CliFailure, FailureDetail, print, records, terminal_options};

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub(super) struct CompareArgs {
    /// Run records (NDJSON), or directories of them, of any backends and users that the table
    /// knows.
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Another table than the built-in one.
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = CompareFormat::Terminal)]
    format: CompareFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// Lines for a terminal.
    Terminal,
    /// A page.
    Markdown,
}

/// Exits with 0 when all agree or are explained, 1 when a difference is not explained or an
/// explanation is out of date, 2 for what cannot be read, 3 when nothing was compared or
/// something was not learnt.
pub(super) fn run(args: &CompareArgs) -> Result<i32, CliFailure> {
    let table = match &args.with {
        Some(file) => table(file)?,
        None => ByHand::built_in().map_err(|error| CliFailure::usage(error.to_string()))?,
    };
    let runs = records::read_all(&args.records)?;
    let matrix = merge(&runs).map_err(|error| CliFailure::usage(error.to_string()))?;
    let comparison = compare(&table, &matrix);
    match args.format {
        CompareFormat::Terminal => {
            print(&render(&comparison, terminal_options(false, FailureDetail::Full).width))?;
        }
        CompareFormat::Markdown => print(&page(&table, &comparison))?,
    }
    Ok(comparison.counts().exit())
}

fn table(file: &Path) -> Result<ByHand, CliFailure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| CliFailure::usage(format!("{}: {error}", file.display())))?;
    ByHand::read(file, &text).map_err(|error| CliFailure::usage(error.to_string()))
}
