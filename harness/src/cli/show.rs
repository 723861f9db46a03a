//! `boxproof show`: the question, expectation and citations of one case.

use boxproof_cases::{Case, Suite};

use super::{CliFailure, CorpusArgs, print_text};
use crate::case_summary;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// The case's id, or a glob.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    corpus: CorpusArgs,
}

pub(super) fn run(args: &ShowArgs) -> Result<i32, CliFailure> {
    let cases = args.corpus.settle()?.cases(&args.ids);
    let (suite, selection) = cases.selected()?;
    let shown: Vec<_> = suite.cases.iter().filter(|case| selection.selects(case)).collect();
    for case in &shown {
        print_text(&describe(case, &suite))?;
    }
    Ok(if shown.is_empty() { 4 } else { 0 })
}

fn describe(case: &Case, suite: &Suite) -> String {
    let mut lines = vec![format!("{}  ({})", case.id, case.level.keyword())];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:11} {value}"));
        }
    };
    line("purpose", case.purpose.clone());
    for id in &case.requirements {
        let text = suite.requirements.get(id).map(|r| format!("{id}: {} ({})", r.text, r.source));
        line("requirement", text.unwrap_or_else(|| id.to_string()));
    }
    line("sources", case.sources.join(", "));
    line("needs", case.needs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    line("host", case.host.iter().map(|fact| fact.keyword()).collect::<Vec<_>>().join(", "));
    for (name, text) in case_summary::summarize_case(case).parts() {
        line(name, text.replace('\n', "\n              "));
    }
    line("file", case.file.display().to_string());
    lines.join("\n") + "\n"
}
