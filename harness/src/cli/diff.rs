//! `boxproof diff`: the outcome of each case in two runs, and their other differences.

use std::path::PathBuf;

use boxproof_reports::diff::{diff, markdown, terminal};
use boxproof_reports::merge;
use clap::ValueEnum;

use super::{CliFailure, FailureDetail, print, records, terminal_options};

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// The older run: a record (NDJSON), or a directory of them.
    before: PathBuf,
    /// The newer run.
    after: PathBuf,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = DiffFormat::Terminal)]
    format: DiffFormat,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Text, for people.
    Terminal,
    /// For GitHub.
    Markdown,
}

pub(super) fn run(args: &DiffArgs) -> Result<i32, CliFailure> {
    let (before, after) = (
        records::read_all(std::slice::from_ref(&args.before))?,
        records::read_all(std::slice::from_ref(&args.after))?,
    );
    let merged = |runs| merge(runs).map_err(|error| CliFailure::usage(error.to_string()));
    let (before, after) = (merged(&before)?, merged(&after)?);
    let found = diff(&before, &after);
    match args.format {
        DiffFormat::Terminal => {
            print(&terminal(&found, terminal_options(false, FailureDetail::Full).width))?;
        }
        DiffFormat::Markdown => print(&markdown(&found))?,
    }
    match found.compared {
        // What is not asked any more is worse, be it everything.
        0 if !found.is_worse() => Ok(4),
        _ => Ok(i32::from(found.is_worse())),
    }
}
