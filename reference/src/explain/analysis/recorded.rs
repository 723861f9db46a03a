//! Refusals that the mechanism recorded itself: the last that can be the cause of the failure.

use std::path::{Path, PathBuf};

use super::super::errno_messages::RefusalClass;
use super::super::script::ScriptCommand;
use super::super::silent_commands;
use super::indirect::is_of_database;
use super::{AccessKind, FailureAnalysis, RunDenial, cause, ends, lines};

impl FailureAnalysis<'_> {
    /// Returns the last refusal that the mechanism itself recorded and that can be the cause.
    pub(super) fn handed_over(&self, stderr: &str) -> Option<RunDenial> {
        // SQLite opens a database to make it, where it is only asked.
        let asks = self.commands().any(|one| one.program() == "sqlite3" && self.only_reads(one));
        let (op, called) = match asks {
            true => (AccessKind::Read, "read"),
            false => (AccessKind::Write, "write"),
        };
        let refusal = |path: &PathBuf| {
            let classes = [RefusalClass::Access, RefusalClass::Busy].into_iter();
            let mut found = classes.filter_map(|class| self.ground.refuses(path, op, class));
            let (rule, _) = found.next()?;
            self.decides(path, "").then_some(())?;
            Some(RunDenial { rule, op: Some(called), path: Some(path.clone()), what: None })
        };
        if fault!("explain.notes-unread") {
            return None;
        }
        let output = match stderr.trim().is_empty() {
            true => ends(self.run.stdout),
            false => stderr.to_owned(),
        };
        let lines = lines(&output);
        let counts = |path: &&PathBuf| {
            let optional = is_optional(self.ground.beyond_common(path));
            (!optional || self.is_wanted(path, &lines)) && self.is_borne_out(path, stderr)
        };
        let found = self.run.refused.iter().rev().filter(counts).find_map(refusal);
        let own = cause::ordinary(&lines).filter(|at| !is_of_database(lines[*at]));
        found.filter(|_| own.is_none())
    }

    /// Returns whether the output of the command lets the refusal at `path` be its cause: it says
    /// nothing, or speaks of a file that could not be used. A program that goes on without the file, and
    /// then reports the result of its own work, did not fail for it. A command that only looks at it did.
    fn is_borne_out(&self, path: &Path, stderr: &str) -> bool {
        let stdout = ends(self.run.stdout);
        let (told, shown) = (lines(stderr), lines(&stdout));
        let is_about = |step: &&&ScriptCommand| {
            step.words.iter().skip(1).chain(&step.files).any(|word| names(path, word))
        };
        let deciders = self.deciders();
        let mut about = deciders.own.iter().filter(is_about).peekable();
        let named = about.peek().is_some();
        if about.any(|step| cause::is_plain(step)) {
            return true;
        }
        let about =
            |line: &&&str| names(path, line) || is_of_database(line) || cause::tells_trouble(line);
        let silent = stderr.trim().is_empty();
        let mut about = if silent { &shown } else { &told }.iter().filter(about).peekable();
        match about.peek() {
            Some(_) => !(about.all(|line| cause::warns(line)) && cause::gives_verdict(&shown)),
            None => silent && (named || stdout.trim().is_empty()),
        }
    }

    /// Returns whether a file that is made only if it can be is what the command was about: a message
    /// names it, or git was to write and says nothing.
    fn is_wanted(&self, path: &Path, lines: &[&str]) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let writes = || {
            let mut git = self.commands().filter(|one| one.program() == "git");
            git.any(|one| one.operands().next().is_some_and(silent_commands::git_writes))
        };
        match lines.iter().all(|line| line.trim().is_empty()) {
            true => name == INDEX_LOCK && writes(),
            false => lines.iter().any(|line| names(path, line)),
        }
    }
}

/// Returns whether `line` has the file name of `path` as a word.
fn names(path: &Path, line: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_end = |c: char| !c.is_alphanumeric() && !"._-".contains(c);
    line.split(is_end).any(|word| word == name) && !line.contains(UNLOGGED)
}

/// The lock that git takes to note what it found, also where it only looks.
const INDEX_LOCK: &str = "index.lock";
/// What npm says of its own log, beside every failure.
const UNLOGGED: &str = "Log files were not written";

/// Returns whether a file is one that a tool makes if it can, and does without otherwise: git's note of
/// what it found, byte code, caches and logs. `path` is without what the workspace lies in, too, which
/// may be a cache itself.
fn is_optional(path: &Path) -> bool {
    let is_cache = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        let known = ["__pycache__", ".npm", "_logs"].contains(&name.as_ref());
        known || name.starts_with('.') && name.ends_with("cache")
    };
    path.ends_with(Path::new(".git").join(INDEX_LOCK)) || path.iter().any(is_cache)
}
