//! Refusals that the mechanism recorded itself: the last that can be the cause of the failure.

use std::path::{Path, PathBuf};

use super::super::errno_messages::RefusalClass;
use super::indirect::is_of_database;
use super::{AccessKind, FailureAnalysis, RunDenial, cause, lines};

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
        let said = |path: &&PathBuf| !is_optional(path) || is_told_of(path, stderr);
        let found = self.run.refused.iter().rev().filter(said).find_map(refusal);
        let lines = lines(stderr);
        let own = cause::ordinary(&lines).filter(|at| !is_of_database(lines[*at]));
        found.filter(|_| own.is_none())
    }
}

/// Returns whether a file is one that git or Python makes if it can, and does without otherwise.
fn is_optional(path: &Path) -> bool {
    path.ends_with(".git/index.lock") || path.iter().any(|name| name == "__pycache__")
}

/// Returns whether `stderr` names the last name of `path`, or is silent.
fn is_told_of(path: &Path, stderr: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    stderr.trim().is_empty() && name == "index.lock" || stderr.contains(name.as_ref())
}
