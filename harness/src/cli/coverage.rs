//! `boxproof coverage`: what the cases are about, and what no case is about.

use boxproof_cases::coverage::{CorpusCoverage, PublicReports};
use boxproof_reports::coverage;
use clap::ValueEnum;

use super::{CliFailure, CorpusArgs, print};

/// Arguments of `coverage`.
#[derive(Debug, clap::Args)]
pub(super) struct CoverageArgs {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Print what has no case alone, and end with 1 if there is anything.
    #[arg(long, conflicts_with = "format")]
    gate: bool,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    format: CoverageFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CoverageFormat {
    /// Tables for a terminal.
    Text,
    /// A Markdown page.
    Markdown,
    /// A page of its own.
    Html,
}

/// Exits with 0, or, as a gate, with 1 where anything has no case; with 4 where there are no cases.
pub(super) fn run(args: &CoverageArgs) -> Result<i32, CliFailure> {
    let suite = args.corpus.settle()?.suite()?;
    let reports =
        PublicReports::built_in().map_err(|error| CliFailure::usage(error.to_string()))?;
    let covered = CorpusCoverage::new(&suite, &reports);
    print(&match args.format {
        CoverageFormat::Text => coverage::text(&covered, args.gate),
        CoverageFormat::Markdown => coverage::markdown(&covered),
        CoverageFormat::Html => coverage::html(&covered),
    })?;
    if suite.cases.is_empty() {
        return Ok(4);
    }
    Ok(i32::from(args.gate && !covered.bare().is_empty()))
}
