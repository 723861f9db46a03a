//! The grant that a command line infers ([`infer`]): every simple command in the parsed line has to
//! change a repository in a known harmless way, or to be harmless otherwise. A line that is not
//! understood grants nothing. Pure: it reads no file, so the limits of the grant itself are the
//! boundary, not this inference.

mod assignments;
mod classify;
mod compound;
mod git;
mod git_config;
mod git_control_files;
mod git_paths;
mod lex;
mod options;
mod parse;
mod programs;
mod sed;
mod subcommands;
mod word;
mod wrapper;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Command, InferredGrants, Mode, Policy, Protect, Run};

use crate::policy::GIT_GRANT;
use classify::{CommandClass, LineContext};
pub(crate) use git_control_files::{STEERS, steers};

/// Infers the grants of the command of `run` besides those of `policy`, or the reason for none.
/// Returns none where the policy leaves nothing to infer. Only a shell line is judged: a rewritten
/// one by its original form. `is_foreign` returns whether a directory is in another repository, whose
/// hooks would have the grant.
pub(crate) fn for_run(
    policy: &Policy,
    run: &Run,
    is_foreign: impl Fn(&Path) -> bool,
) -> Option<InferredGrants> {
    let writes = policy.mode == Mode::WorkspaceWrite || fault!("grants.read-only");
    let held = policy.protect == Protect::Metadata && writes;
    let asked = held && policy.infer_grants && !policy.grants.iter().any(|one| one == GIT_GRANT);
    let line = typed_line(&run.command, run.original_command.as_deref())?;
    if !asked {
        return None;
    }
    let (inferred, entered) = judge(line, policy.workspace.as_path(), run.cwd.as_path());
    let foreign = entered.is_none_or(|entered| entered.iter().any(|one| is_foreign(one)));
    Some(match foreign && !inferred.granted.is_empty() {
        true => InferredGrants {
            granted: Vec::new(),
            because: "it works in another repository than the workspace's".to_owned(),
            ..inferred
        },
        false => inferred,
    })
}

/// Infers the grants of `line`, started in `cwd`.
pub(crate) fn infer(line: &str, workspace: &Path, cwd: &Path) -> InferredGrants {
    judge(line, workspace, cwd).0
}

/// Infers the grants of `line`, and returns the directories besides in which its commands may run; none if these
/// are too many.
fn judge(line: &str, workspace: &Path, cwd: &Path) -> (InferredGrants, Option<Vec<PathBuf>>) {
    /// Each directory that is entered may lie in each of those before.
    const MOST: usize = 256;
    let context = LineContext { workspace, cwd, entered: RefCell::default() };
    let inferred = infer_in(&context, line);
    let mut directories = vec![cwd.to_owned()];
    for directory in context.entered.into_inner() {
        let inner: Vec<PathBuf> = directories.iter().map(|outer| outer.join(&directory)).collect();
        directories.extend(inner);
        if directories.len() > MOST {
            return (inferred, None);
        }
    }
    (inferred, Some(directories))
}

fn infer_in(context: &LineContext<'_>, line: &str) -> InferredGrants {
    let told = |granted: Vec<String>, subcommand: Option<&str>, because: String| InferredGrants {
        granted,
        subcommand: subcommand.map(str::to_owned),
        because,
    };
    let parts = match parse::parse(line) {
        Ok(simples) => classify::each(context, &simples),
        Err(why) => return told(Vec::new(), None, format!("the line is not understood: {why}")),
    };
    let changes = parts.iter().find_map(CommandClass::subcommand);
    if let Err(why) = context.check() {
        return told(Vec::new(), changes, why.to_owned());
    }
    match (parts.iter().find_map(CommandClass::refusal), changes) {
        (Some(why), _) => told(Vec::new(), changes, why),
        (None, None) => told(Vec::new(), None, "nothing in it changes a repository".to_owned()),
        (None, Some(name)) => {
            let because = format!("git {name} changes a repository, and the rest does no harm");
            told(vec![GIT_GRANT.to_owned()], Some(name), because)
        }
    }
}

/// The line that counts: the `original` of a rewritten command, or what a shell is given.
pub(crate) fn typed_line<'a>(command: &'a Command, original: Option<&'a str>) -> Option<&'a str> {
    original.filter(|_| !fault!("grants.typed-line")).or_else(|| shell_line(command))
}

/// The line that a shell is given.
fn shell_line(command: &Command) -> Option<&str> {
    match command {
        Command::Shell(line) => Some(line),
        Command::Argv(argv) => match argv.as_slice() {
            // Words behind the line set positional parameters, which are not trusted.
            [shell, option, line, ..] if option == "-c" && wrapper::is_shell(shell) => Some(line),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests;
