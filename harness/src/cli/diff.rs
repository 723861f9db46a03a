//! `boxproof diff`: what became of each case between two runs, and what else is not the same.

use std::path::PathBuf;

use boxproof_reports::diff::{diff, markdown, terminal};
use boxproof_reports::merge;
use clap::ValueEnum;

use super::{Failure, FailureDetail, print, records, terminal_options};

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The older run: a record (NDJSON), or a folder of them.
    before: PathBuf,
    /// The newer run.
    after: PathBuf,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text, for people.
    Terminal,
    /// For GitHub.
    Markdown,
}

pub(super) fn run(args: &Args) -> Result<i32, Failure> {
    let (before, after) = (
        records::read_all(std::slice::from_ref(&args.before))?,
        records::read_all(std::slice::from_ref(&args.after))?,
    );
    let merged = |runs| merge(runs).map_err(|error| Failure::usage(error.to_string()));
    let (before, after) = (merged(&before)?, merged(&after)?);
    let found = diff(&before, &after);
    match args.format {
        Format::Terminal => {
            print(&terminal(&found, terminal_options(false, FailureDetail::Full).width))?;
        }
        Format::Markdown => print(&markdown(&found))?,
    }
    match found.compared {
        0 => Ok(4),
        _ => Ok(i32::from(found.is_worse())),
    }
}
