//! `refbox status`: the effect of a sandbox block.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{CommandFate, Document, Protect, Status};
use clap::Args;

use super::{NO, OutputFormat, YES, document_text};
use crate::policy::MechanismName;
use crate::policy::inferoa::{self, ResolvedBlock, text};
use crate::request::inferoa as inferoa_request;
use crate::{claims, run};

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
    let document = Document { name, text: document_text(&asked.config)? };
    let shown = asked.workspace.display();
    let workspace =
        std::path::absolute(&asked.workspace).map_err(|error| format!("{shown}: {error}"))?;
    let settled =
        inferoa_request::settled(&[document], &workspace).map_err(|fault| fault.to_string())?;
    let status = report(prefix, settled, &asked.workspace);
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

/// Builds the report of `settled` for the workspace as it was `given`. Where the block confines,
/// the mechanism is found by a trial run on this host.
pub(super) fn report(prefix: &[&str], settled: ResolvedBlock, given: &Path) -> Status {
    let tried = (settled.runs() == CommandFate::Confined).then(|| {
        let held = settled.policy.protect == Protect::Metadata;
        run::effective(prefix, MechanismName::named(settled.mechanism), held)
    });
    let (settled, effective) = match tried {
        Some(Err(why)) => (ResolvedBlock { unavailable: Some(why), ..settled }, None),
        tried => (settled, tried.and_then(Result::ok)),
    };
    let mechanism = effective.map_or("none", |effective| effective.mechanism.name());
    let status = inferoa::status(&settled, &given.display().to_string(), mechanism);
    let shows_host = effective.is_some_and(|effective| effective.shows_host);
    let limits = shows_host.then(|| claims::HOST_PROC.to_owned()).into_iter().collect();
    Status { limits, ..status }
}
