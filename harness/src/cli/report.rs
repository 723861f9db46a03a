//! `boxproof report`: renders run records that were written before.

use std::path::PathBuf;

use boxproof_reports::{ExitCode, merge_partial};

use super::outputs::{OutputArgs, annotate};
use super::run::{Format, GITHUB_LIMIT};
use super::{Failure, print, records, terminal_options};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Run records (NDJSON), or directories of them; several become one matrix.
    #[arg(value_name = "FILE", required = true)]
    records: Vec<PathBuf>,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    #[command(flatten)]
    outputs: OutputArgs,
    /// List every case, not only those to look at.
    #[arg(long, short)]
    verbose: bool,
}

pub(super) fn run(args: &Args) -> Result<i32, Failure> {
    let pages = args.outputs.open(None)?;
    let runs = records::read_all(&args.records)?;
    let matrix = merge_partial(&runs).map_err(|error| Failure::usage(error.to_string()))?;
    let kept = pages.write(&matrix);
    match args.format {
        Format::Terminal => {
            print(&boxproof_reports::terminal::render(&matrix, terminal_options(args.verbose)))?;
        }
        Format::Markdown => print(&boxproof_reports::markdown::render(&matrix, GITHUB_LIMIT))?,
        Format::Html => print(&boxproof_reports::html::render(&matrix))?,
        Format::Ndjson => {
            return Err(Failure::usage(
                "a record is already NDJSON: use terminal, markdown or html",
            ));
        }
    }
    annotate(&matrix);
    Ok(i32::from(if kept { ExitCode::Expected } else { ExitCode::Unlearnt }.code()))
}
