//! `refbox status`: the effect of a sandbox block.

use std::path::PathBuf;

use boxproof_cases::protocol::{CommandFate, Document, Status};
use clap::Args;

use super::{NO, OutputFormat, YES};
use crate::dialect::inferoa::text;
use crate::inferoa_request;

pub(super) const EXAMPLES: &str = "\
Exit codes: 0 if commands run, 1 if they are refused, 2 if the file is not in order.

Examples:
  refbox status --config config.yaml --workspace .
  refbox status --config config.yaml --workspace . --format json
  refbox status --request request.json --result answer.json";

/// A block, and where it holds.
#[derive(Debug, Args)]
pub(crate) struct BlockArgs {
    /// The configuration file with the key `sandbox`
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The workspace; relative extra roots start there
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
    /// The format of the answer; text unless given
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
}

/// Prints it; the exit code.
pub(super) fn status(prefix: &[&str], asked: &BlockArgs) -> Result<i32, String> {
    let name = asked.config.display().to_string();
    let document = std::fs::read_to_string(&asked.config)
        .map(|text| Document { name: name.clone(), text })
        .map_err(|error| format!("{name}: {error}"))?;
    let shown = asked.workspace.display();
    let workspace =
        std::path::absolute(&asked.workspace).map_err(|error| format!("{shown}: {error}"))?;
    let settled =
        inferoa_request::settled(&[document], &workspace).map_err(|fault| fault.to_string())?;
    let status = inferoa_request::report(prefix, settled, &asked.workspace);
    match asked.format {
        Some(OutputFormat::Json) => {
            let json = serde_json::to_string_pretty(&status).map_err(|error| error.to_string())?;
            crate::stdout::line(format_args!("{json}"));
        }
        Some(OutputFormat::Text) | None => crate::stdout::text(format_args!("{}", text(&status))),
    }
    Ok(exit(&status))
}

/// Returns the exit code: NO if commands are refused.
pub(super) fn exit(status: &Status) -> i32 {
    if status.runs == CommandFate::Refused { NO } else { YES }
}
