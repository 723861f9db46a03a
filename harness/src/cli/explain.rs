//! `boxproof explain`: a case in full sentences.

use std::path::PathBuf;

use super::{CaseArgs, CliFailure, print_text};
use crate::explain::text;

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {
    /// The case's id, or a glob.
    #[arg(value_name = "CASE", required = true)]
    ids: Vec<String>,
    /// Cases of your own instead of the built-in corpus.
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<i32, CliFailure> {
    let cases = CaseArgs { filters: args.ids.clone(), cases: args.cases.clone(), slow: true };
    let suite = cases.suite()?;
    let selection = cases.selection(&suite)?;
    let texts: Vec<String> = suite
        .cases
        .iter()
        .filter(|case| selection.selects(case))
        .map(|case| text(case, &suite))
        .collect();
    print_text(&texts.join("\n\n"))?;
    Ok(if texts.is_empty() { 4 } else { 0 })
}
