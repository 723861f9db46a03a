//! `refbox grants`: which grant shell lines give themselves.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{DocumentAnswer, GrantsRequest, InferredGrants, WirePath};
use clap::Args;

use super::{BatchFiles, NO, OutputFormat, YES, batch};
use crate::policy::grant;

pub(super) const EXAMPLES: &str = "\
Exit codes: 0 if every line grants itself something, 1 if one does not, 2 if there is no answer.

Examples:
  refbox grants 'git add . && git commit -m done' 'git reset --hard'
  refbox grants --request request.json --result answer.json";

/// Lines, and where they would be started.
#[derive(Debug, Args)]
pub(crate) struct ShellLineArgs {
    /// The workspace; where this is started unless given
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
    /// The directory in which the lines start; the workspace unless given
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The format of the answer; text unless given
    #[arg(long, value_enum)]
    format: Option<OutputFormat>,
    /// The lines, each for a shell
    #[arg(required = true, value_name = "LINE")]
    lines: Vec<String>,
}

/// Prints the grants that each line infers; returns the exit code.
pub(super) fn grants(asked: &ShellLineArgs) -> Result<i32, String> {
    let workspace = absolute(&asked.workspace)?;
    let cwd = asked.cwd.as_deref().map(absolute).transpose()?;
    let told = each(&asked.lines, &workspace, cwd.as_deref());
    match asked.format {
        Some(OutputFormat::Json) => {
            let json = serde_json::to_string_pretty(&told).map_err(|error| error.to_string())?;
            crate::stdout::line(format_args!("{json}"));
        }
        Some(OutputFormat::Text) | None => {
            asked
                .lines
                .iter()
                .zip(&told)
                .for_each(|(line, told)| crate::stdout::line(format_args!("{}", said(line, told))));
        }
    }
    Ok(exit(&told))
}

/// Infers the grants of a request's lines; returns the exit code.
pub(super) fn in_file(batch: &BatchFiles) -> Result<i32, String> {
    let request: GrantsRequest = batch::read(batch)?;
    batch::speaks(request.protocol)?;
    for (name, path) in [("workspace", Some(&request.workspace)), ("cwd", request.cwd.as_ref())] {
        if let Some(path) = path.map(WirePath::as_path).filter(|path| !path.is_absolute()) {
            return Err(format!("{name}: {} is not an absolute path", path.display()));
        }
    }
    let cwd = request.cwd.as_ref().map(WirePath::as_path);
    let told = each(&request.lines, request.workspace.as_path(), cwd);
    batch::write(batch, Ok(DocumentAnswer::Grants(told)))
}

/// Returns the exit code: YES if every line infers a grant.
pub(super) fn exit(told: &[InferredGrants]) -> i32 {
    if told.iter().any(|line| line.granted.is_empty()) { NO } else { YES }
}

fn each(lines: &[String], workspace: &Path, cwd: Option<&Path>) -> Vec<InferredGrants> {
    let cwd = cwd.unwrap_or(workspace);
    lines.iter().map(|line| grant::infer(line, workspace, cwd)).collect()
}

fn said(line: &str, told: &InferredGrants) -> String {
    let granted = match told.granted.is_empty() {
        true => "nothing".to_owned(),
        false => told.granted.join(", "),
    };
    format!("{granted}: {line:?}: {}", told.because)
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))
}
