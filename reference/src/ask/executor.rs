//! The verb `executor`: what an executor would start here, as JSON. Nothing is started.

use std::path::PathBuf;

use clap::Args;

use super::YES;
use crate::dialect::caliban::{Host, Look, here};
use crate::executor::{Declaration, Machine, start};

/// An executor's declaration.
#[derive(Debug, Args)]
pub(crate) struct Executor {
    /// The declaration: YAML with name, provider (codex, claude, gemini), program, args, config,
    /// sandbox (macos-sandbox-exec) and allow_fallback
    file: PathBuf,
    /// The workspace, in which relative side roots lie
    #[arg(long, value_name = "DIR")]
    workspace: PathBuf,
}

/// Prints what is started; the exit code.
pub(super) fn executor(asked: &Executor) -> Result<i32, String> {
    let name = asked.file.display().to_string();
    let text = std::fs::read_to_string(&asked.file).map_err(|error| format!("{name}: {error}"))?;
    let workspace = std::path::absolute(&asked.workspace)
        .map_err(|error| format!("{}: {error}", asked.workspace.display()))?;
    let declared = Declaration::parse(&name, &text)?;
    let has_program = |path: &std::path::Path| Host { prefix: None }.is_program(path);
    let machine = Machine { platform: here(), workspace: &workspace, has_program: &has_program };
    let start = start(&declared, machine)?;
    start.warnings.iter().for_each(|warning| eprintln!("refbox: {warning}"));
    let text = serde_json::to_string_pretty(&start).map_err(|error| error.to_string())?;
    println!("{text}");
    Ok(YES)
}
