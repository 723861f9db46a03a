//! `boxproof capabilities`: everything that a backend can claim.

use boxproof_cases::Capability;

use super::list::ListFormat;
use super::{CliFailure, CorpusArgs, print};

/// Arguments of `capabilities`.
#[derive(Debug, clap::Args)]
pub(super) struct CapabilitiesArgs {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
}

/// Lists each capability with the number of cases that need it.
pub(super) fn run(args: &CapabilitiesArgs) -> Result<i32, CliFailure> {
    let suite = args.corpus.settle()?.suite()?;
    let cases = |capability: &Capability| {
        suite.cases.iter().filter(|case| case.needs.contains(capability)).count()
    };
    let all: Vec<(Capability, usize)> = Capability::all().map(|c| (c.clone(), cases(&c))).collect();
    match args.format {
        ListFormat::Text => {
            let width = all.iter().map(|(c, _)| c.name().len()).max().unwrap_or_default();
            for (capability, cases) in &all {
                let (name, meaning) = (capability.name(), capability.meaning());
                print(&format!("{name:width$}  {cases:5}  {meaning}\n"))?;
            }
            print(&format!(
                "{} capabilities, each with the number of cases that need it\n",
                all.len()
            ))?;
        }
        ListFormat::Json => {
            let row = |(capability, cases): &(Capability, usize)| {
                serde_json::json!({
                    "name": capability.name(), "cases": cases, "meaning": capability.meaning(),
                })
            };
            let rows: Vec<_> = all.iter().map(row).collect();
            print(&format!("{:#}\n", serde_json::Value::from(rows)))?;
        }
    }
    Ok(0)
}
