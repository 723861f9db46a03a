//! What a refusal left undone, and a later command then lacked: a file that was to be made, and a variable of a
//! program that went on after the error.

use std::path::PathBuf;

use super::super::deciding_commands::fetched_file;
use super::super::errno_messages::RefusalClass;
use super::super::{message, operation, silent_commands};
use super::{AccessKind, FailureAnalysis, RunDenial, strip};

impl FailureAnalysis<'_> {
    /// Returns whether `stderr` tells of nothing but files that are not there, and each was to be made by another
    /// command of the line, which says nothing but that it reached no host, for those that decided.
    pub(super) fn lacks_products(&self, stderr: &str) -> bool {
        let program = |line: &str| line.split([':', ' ']).next().unwrap_or_default().to_owned();
        let told = || stderr.lines().filter(|line| !line.trim().is_empty());
        let complaints: Vec<_> =
            told().filter_map(|line| Some((program(line), message::read(strip(line))?))).collect();
        let is_of_same =
            |line: &str| complaints.iter().any(|(speaker, _)| *speaker == program(line));
        let lacks = |complaint: &message::RefusalMessage| {
            complaint.class == RefusalClass::Missing
                && complaint.paths.first().is_some_and(|path| self.was_to_be_made(path))
        };
        let feeders = self.deciders().feeders;
        // The command that was to make it may say that it reached no host.
        let is_offline = |speaker: &str, complaint: &message::RefusalMessage| {
            complaint.class == RefusalClass::Network
                && feeders.iter().any(|step| step.program() == speaker)
        };
        complaints.iter().any(|(_, complaint)| lacks(complaint))
            && told().all(is_of_same)
            && complaints
                .iter()
                .all(|(speaker, complaint)| lacks(complaint) || is_offline(speaker, complaint))
    }

    /// Returns whether `path` is not there, and a command that made the input of those that decided was to make it.
    fn was_to_be_made(&self, path: &str) -> bool {
        let wanted = self.meanings(path);
        let feeders = self.deciders().feeders;
        let feeds = |words: &[String]| feeders.iter().any(|step| step.words == words);
        let is_of = |made: PathBuf| wanted.iter().any(|real| real.starts_with(&made));
        let makes = |(paths, op): (Vec<String>, AccessKind)| {
            op == AccessKind::Write && paths.iter().flat_map(|path| self.meanings(path)).any(is_of)
        };
        let fetches = |name: String| self.meanings(&name).into_iter().any(is_of);
        !wanted.iter().any(|real| (self.look.there)(real))
            && (feeders.iter().filter_map(|step| fetched_file(step)).any(fetches)
                || self
                    .commands()
                    .any(|one| feeds(&one.words) && operation::parts(one).into_iter().any(makes)))
    }

    /// Returns the denial after which a program went on, and then failed of a variable that was to have what it did
    /// not get.
    pub(super) fn unassigned(&self, stderr: &str) -> Option<RunDenial> {
        let lines: Vec<&str> = stderr.lines().collect();
        let line = failing_line(&lines)?;
        let handlers = self.error_handlers();
        let mut guarded = handlers.guarding(line).peekable();
        guarded.peek()?;
        let reaches = self.run.refused_routes.is_some_and(|routes| routes > 0);
        guarded.find_map(|code| {
            let mut named = silent_commands::literals(code).into_iter();
            let read = named.find_map(|(path, op)| {
                (op == AccessKind::Read).then(|| self.unread(&path)).flatten()
            });
            read.or_else(|| (reaches && super::network::is_host(code)).then(|| self.network())?)
        })
    }
}

/// Returns the line of source code at which the program of `lines` tells that it failed for a value that is none.
fn failing_line<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let last = lines.iter().rposition(|line| {
        let of_python = ["AttributeError: ", "TypeError: ", "NameError: ", "UnboundLocalError: "];
        of_python.iter().any(|kind| line.starts_with(kind))
    })?;
    let is_place = |line: &&str| line.trim_start().starts_with("File \"");
    // Node shows the line with a mark below it, and the error below that.
    let at = lines[..last].iter().rposition(is_place).map(|at| at + 1);
    let marked = || lines[..last].iter().position(|line| line.trim() == "^")?.checked_sub(1);
    let line = *lines.get(at.or_else(marked)?)?;
    let none =
        ["NoneType", "undefined", "null", "not defined", "not associated", "before assignment"];
    none.iter().any(|word| lines[last].contains(word)).then_some(line)
}
