//! The verb `executor`: prints the command that an executor would start here, as JSON. Nothing is
//! started.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{DocumentAnswer, ExecutorRequest, PolicyFault, WirePath};
use clap::Args;

use super::{BatchFiles, YES, batch, document_text};
use crate::host::settings_platform;
use crate::policy::caliban::HostInspector;
use crate::policy::executor::{ExecutorDeclaration, MachineFacts, start};
use crate::run::LocalHost;

pub(super) const EXAMPLES: &str = "\
Exit codes: 0 if something is started, 2 if not.

Examples:
  refbox executor codex.yaml --workspace .
  refbox executor --request request.json --result answer.json";

/// An executor's declaration.
#[derive(Debug, Args)]
pub(crate) struct ExecutorArgs {
    /// The declaration: a document `kind: Executor` (schemaVersion 2, metadata.name, and in spec
    /// command, args, config, sandbox, allow_fallback), or in short name, provider (codex, claude,
    /// gemini), program, args, config, sandbox (macos-sandbox-exec) and allow_fallback
    file: PathBuf,
    /// The workspace, in which relative side roots lie
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
}

/// Prints the command; returns the exit code.
pub(super) fn executor(asked: &ExecutorArgs) -> Result<i32, String> {
    let name = asked.file.display().to_string();
    let text = document_text(&asked.file)?;
    let workspace = std::path::absolute(&asked.workspace)
        .map_err(|error| format!("{}: {error}", asked.workspace.display()))?;
    let declared = ExecutorDeclaration::parse(&name, &text)?;
    let has_program = |path: &Path| LocalHost { prefix: None }.is_program(path);
    let machine = MachineFacts {
        platform: settings_platform(),
        workspace: &workspace,
        has_program: &has_program,
    };
    let start = start(&declared, machine)?;
    start.warnings.iter().for_each(|warning| eprintln!("refbox: {warning}"));
    let text = serde_json::to_string_pretty(&start).map_err(|error| error.to_string())?;
    crate::stdout::line(format_args!("{text}"));
    Ok(YES)
}

/// Answers for a declaration and a machine of a request; returns the exit code.
pub(super) fn in_file(batch: &BatchFiles) -> Result<i32, String> {
    let request: ExecutorRequest = batch::read(batch)?;
    batch::speaks(request.protocol)?;
    let workspace = request.workspace.as_path();
    if !workspace.is_absolute() {
        return Err(format!("workspace: {} is not an absolute path", workspace.display()));
    }
    let has_program = |path: &Path| match &request.programs {
        Some(programs) => programs.iter().map(WirePath::as_path).any(|program| program == path),
        None => LocalHost { prefix: None }.is_program(path),
    };
    let platform = request.platform.unwrap_or_else(settings_platform);
    let machine = MachineFacts { platform, workspace, has_program: &has_program };
    let started = match request.documents.as_slice() {
        [one] => {
            ExecutorDeclaration::parse(&one.name, &one.text).and_then(|own| start(&own, machine))
        }
        _ => Err("documents: an executor is declared in one document; name one".to_owned()),
    };
    let told = started.map(|start| DocumentAnswer::Starts(Box::new(start)));
    let fault = |message| PolicyFault { message, file: None, line: None, column: None };
    batch::write(batch, told.map_err(fault))
}
