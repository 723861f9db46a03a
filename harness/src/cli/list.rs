//! `boxproof list`: the selected cases, a line each.

use clap::ValueEnum;

use super::{CaseArgs, CliFailure, print, print_text};

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    cases: CaseArgs,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// Id, level, expectation and purpose.
    Text,
    /// One JSON array.
    Json,
}

pub(super) fn run(args: &ListArgs) -> Result<i32, CliFailure> {
    let cases = args.cases.settle()?;
    let (suite, selection) = cases.selected()?;
    let cases: Vec<_> = suite.cases.iter().filter(|case| selection.selects(case)).collect();
    match args.format {
        ListFormat::Text => {
            let width = cases.iter().map(|case| case.id.as_str().len()).max().unwrap_or_default();
            for case in &cases {
                let decision = case.expect.decision.keyword();
                let level = case.level.keyword();
                print_text(&format!(
                    "{:width$}  {level:6}  {decision:9}  {}\n",
                    case.id, case.purpose
                ))?;
            }
            print_text(&format!("{} cases\n", cases.len()))?;
        }
        ListFormat::Json => {
            let rows: Vec<_> = cases
                .iter()
                .map(|case| {
                    serde_json::json!({
                        "id": case.id, "level": case.level, "area": case.area(),
                        "expect": case.expect.decision.keyword(), "purpose": case.purpose,
                        "requirements": case.requirements, "needs": case.needs,
                        "about": case.subjects(),
                        "slow": case.slow,
                    })
                })
                .collect();
            print(&format!("{:#}\n", serde_json::Value::from(rows)))?;
        }
    }
    Ok(if cases.is_empty() { 4 } else { 0 })
}
