//! `boxproof explain`: a case in full sentences.

use super::{CliFailure, CorpusArgs, print_text};
use crate::explain::text;

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {
    /// The case's id, or a glob.
    #[arg(value_name = "CASE", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    corpus: CorpusArgs,
}

pub(super) fn run(args: &ExplainArgs) -> Result<i32, CliFailure> {
    let cases = args.corpus.settle()?.cases(&args.ids);
    let (suite, selection) = cases.selected()?;
    let texts: Vec<String> = suite
        .cases
        .iter()
        .filter(|case| selection.selects(case))
        .map(|case| text(case, &suite))
        .collect();
    print_text(&texts.join("\n\n"))?;
    Ok(if texts.is_empty() { 4 } else { 0 })
}
