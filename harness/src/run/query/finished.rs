//! The request that asks about a finished run. Pure.

use std::path::Path;

use boxproof_cases::Case;
use boxproof_cases::case::FinishedRunSpec;
use boxproof_cases::protocol::{Command, ExplainRequest, FinishedRun, PROTOCOL};
use boxproof_cases::vars::VariableValues;

/// Builds the `explain` request about `ended` under the policy of `case`.
pub(super) fn request(
    case: &Case,
    ended: &FinishedRunSpec,
    workspace: &Path,
    vars: &VariableValues,
) -> Result<ExplainRequest, String> {
    let text = |text: &String| vars.expand(text).map_err(|error| error.to_string());
    let policy = case.policy().resolve(workspace, vars).map_err(|error| error.to_string())?;
    let command = match &ended.command {
        Command::Shell(line) => Command::Shell(text(line)?),
        Command::Argv(argv) => Command::Argv(argv.iter().map(text).collect::<Result<_, _>>()?),
    };
    let finished = FinishedRun {
        command,
        original_command: ended.original.as_ref().map(text).transpose()?,
        cwd: workspace.into(),
        exit_code: ended.exit,
        signal: ended.signal,
        refused_routes: ended.refused_routes,
        stdout: text(&ended.stdout)?,
        stderr: text(&ended.stderr)?,
    };
    Ok(ExplainRequest { protocol: PROTOCOL, policy, finished })
}
