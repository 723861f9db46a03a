//! The judgement of one simple command: a granted change of a repository, harmless, or refused.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::assignments;
use super::git;
use super::git_paths;
use super::parse;
use super::programs;
use super::word::{ShellWord, SimpleCommand};
use super::wrapper::{self, WrappedCommand};

/// The maximum depth of nested wrappers.
const DEPTH: usize = 8;

/// The workspace and the working directory of a line.
#[derive(Debug, Clone)]
pub(super) struct LineContext<'a> {
    pub(super) workspace: &'a Path,
    pub(super) cwd: &'a Path,
    /// The directories that the line enters, in order.
    pub(super) entered: RefCell<Vec<PathBuf>>,
}

/// The judgement of one simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandClass {
    /// It changes a repository by this subcommand, which is granted.
    Changes(&'static str),
    /// It does no harm to a repository, even if that can be written.
    Harmless,
    /// It may, for this reason; the subcommand that is in it all the same.
    Refused(String, Option<&'static str>),
}

impl CommandClass {
    /// The subcommand that would change a repository.
    pub(super) fn subcommand(&self) -> Option<&'static str> {
        match self {
            Self::Changes(name) => Some(name),
            Self::Harmless => None,
            Self::Refused(_, name) => *name,
        }
    }

    /// Returns the reason why it is neither granted nor harmless.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            Self::Refused(why, _) => Some(why.clone()),
            _ => None,
        }
    }
}

impl LineContext<'_> {
    /// Checks that the line starts in the workspace, and not in a git directory.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match git_paths::within(self, &self.cwd.to_string_lossy()) || fault!("grants.start") {
            true => Ok(()),
            false => Err("it is not started in the workspace"),
        }
    }
}

/// Judges each simple command.
pub(super) fn each(context: &LineContext<'_>, simples: &[SimpleCommand]) -> Vec<CommandClass> {
    let count = if fault!("grants.first-command") { 1 } else { simples.len() };
    simples.iter().take(count).flat_map(|simple| parts(context, simple, 0)).collect()
}

fn parts(context: &LineContext<'_>, simple: &SimpleCommand, depth: usize) -> Vec<CommandClass> {
    let written = simple.written.iter().filter(|_| !fault!("grants.redirections"));
    let assigned = simple.assigned.iter().filter(|_| !fault!("grants.assignments"));
    let around = written.map(git_paths::written);
    let around = around.chain(assigned.map(|(name, value)| assignments::is_kind(name, value)));
    let broken = around.filter_map(Result::err).map(|why| CommandClass::Refused(why, None));
    broken.chain(program(context, &simple.words, depth)).collect()
}

/// Judges `words`, a command without assignments and redirections.
fn program(context: &LineContext<'_>, words: &[ShellWord], depth: usize) -> Vec<CommandClass> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let Some(name) = first.known() else {
        return vec![CommandClass::Refused("which program is run is not known".to_owned(), None)];
    };
    if depth == DEPTH {
        return vec![CommandClass::Refused("it is wrapped too often".to_owned(), None)];
    }
    match wrapper::inner(name, rest).filter(|_| !fault!("grants.wrappers")) {
        Some(Ok(WrappedCommand::Words(words))) => return program(context, &words, depth + 1),
        Some(Ok(WrappedCommand::Simple(simple))) => return parts(context, &simple, depth + 1),
        Some(Ok(WrappedCommand::Line(line))) => return nested(context, &line, depth + 1),
        Some(Err(why)) => return vec![CommandClass::Refused(why, None)],
        None => {}
    }
    vec![match name {
        "git" | "/usr/bin/git" | "/bin/git" => git::judge(context, rest),
        name => programs::judge(context, name, rest),
    }]
}

/// The parts of a line that a shell within the line is given.
fn nested(context: &LineContext<'_>, line: &str, depth: usize) -> Vec<CommandClass> {
    match parse::parse(line) {
        Ok(_) if fault!("grants.nested-lines") => Vec::new(),
        Ok(simples) => simples.iter().flat_map(|simple| parts(context, simple, depth)).collect(),
        Err(why) => {
            vec![CommandClass::Refused(format!("a line within is not understood: {why}"), None)]
        }
    }
}
