//! Failures without a message of the system: what a silent command, or one that says only what it was told to,
//! would have met.

use std::path::PathBuf;

use super::super::command_parser::{FollowingOperator, ParsedCommand};
use super::super::deciding_commands::{self, DecidingCommands};
use super::super::errno_messages::{self, RefusalClass};
use super::super::policy_index::AccessKind;
use super::super::resolve_path::resolve;
use super::super::script::ScriptCommand;
use super::super::{RunDenial, cause, download, ends, network, operation, silent_commands};
use super::{DenialRule, FailureAnalysis, lines};

/// A placeholder for a stderr that was not captured: it was not empty.
const UNKNOWN: &str = "?";

impl FailureAnalysis<'_> {
    /// Returns the denial behind a failure without a message; `stderr` is none where it was not
    /// captured.
    pub(super) fn quiet(&self, stderr: Option<&str>) -> Option<RunDenial> {
        /// The exit code of curl for a file that it could not write.
        const UNWRITTEN: i32 = 23;
        /// The code of curl for a file that it could not read.
        const UNREAD: i32 = 37;
        let code = self.run.exit_code?;
        let silent = stderr.is_some_and(|stderr| stderr.trim().is_empty());
        let plain = silent
            || stderr.is_some_and(|stderr| {
                self.says_what_it_was_told(stderr) || self.lacks_products(stderr)
            });
        let unwritten = stderr.is_some_and(|stderr| stderr.starts_with("curl: (23) "));
        if (silent || unwritten) && code == UNWRITTEN && self.runs(&["curl"]) {
            let mut named = self.roles.written().iter();
            return named.find_map(|path| self.at(path, AccessKind::Write, RefusalClass::Access));
        }
        if silent && code == UNREAD && self.runs(&["curl"]) {
            let words = self.commands().flat_map(|one| &one.words);
            let named = words.filter_map(|word| word.strip_prefix("file://"));
            let mut named = named.filter(|path| (self.look.there)(path.as_ref()));
            return named.find_map(|path| self.at(path, AccessKind::Read, RefusalClass::Access));
        }
        if silent && let Some(denial) = self.package_manager(code) {
            return Some(denial);
        }
        if let Some(routes) = self.run.refused_routes {
            let met = routes > 0 && self.met_no_route(stderr.unwrap_or_default());
            return match met {
                true => self.network(),
                false => self.unseen(code, stderr.filter(|_| plain)),
            };
        }
        let said = stderr.unwrap_or(UNKNOWN);
        let offline = |line: &[ParsedCommand]| {
            network::failed(line, code, said) || download::is_why(line, code, said)
        };
        if self.lines.iter().any(|line| offline(line)) || self.recipe_is_offline(code, said) {
            return self.network();
        }
        self.unseen(code, stderr.filter(|_| plain))
    }

    /// Returns whether `stderr` has nothing but words of the command line, which it gives as its own reason:
    /// those of an error handler, where code is run.
    pub(super) fn says_what_it_was_told(&self, stderr: &str) -> bool {
        let mut all = stderr.lines().filter(|line| !line.trim().is_empty());
        if all.clone().next_back().is_some_and(download::had_nothing) {
            return true;
        }
        let is_code = |step: &&ScriptCommand| operation::is_interpreter(step.program());
        let DecidingCommands { own, feeders } = self.deciders();
        let handled = || {
            !own.iter().chain(&feeders).any(is_code) || self.error_handlers().say(stderr, &|_| true)
        };
        // The words for the errno may stand behind its own.
        let told = |line: &str| {
            let own = match errno_messages::find(line) {
                Some((RefusalClass::Access | RefusalClass::Missing, at)) => {
                    line[..at.start].trim_end_matches([' ', ':', ','])
                }
                _ => line,
            };
            !own.is_empty() && self.is_echoed(own)
        };
        all.all(told) && !cause::gives_verdict(&lines(&ends(self.run.stdout))) && handled()
    }

    /// Returns whether `one`, of which nothing is heard, is one of the `deciders`: what was kept for a variable, or
    /// given to a test, ends no line itself.
    fn decides_unheard(&self, one: &ParsedCommand, deciders: &DecidingCommands<'_>) -> bool {
        let DecidingCommands { own, feeders } = deciders;
        let is_test = ["test", "[", "[["].contains(&one.program());
        let is_own = (is_test || one.then != FollowingOperator::Or)
            && own.iter().any(|step| step.words == one.words);
        let feeds = || {
            // The next command gets the same of it, or its messages.
            let writes = |(paths, op): &(Vec<String>, AccessKind)| {
                !paths.is_empty() && *op == AccessKind::Write
            };
            let is_same = one.program() == "tee"
                || one.diverted
                    && one.then == FollowingOperator::Pipe
                    && operation::parts(one).iter().any(writes);
            one.then != FollowingOperator::Or
                && !is_same
                && feeders.iter().any(|step| step.words == one.words)
        };
        (one.hushed || one.diverted || is_test)
            && (is_own || feeds())
            && !deciding_commands::ends_regardless(&self.script)
    }

    /// Returns whether a change at `path` was refused, or cannot even be tried, as the directory is hidden.
    fn is_tried(&self, path: &str) -> bool {
        let hidden = |real: &PathBuf| {
            let refused = self.ground.refuses(real, AccessKind::Read, RefusalClass::Access);
            refused.is_some_and(|(rule, _)| rule == DenialRule::ReadDenied)
        };
        let refused =
            |real: &PathBuf| self.run.refused.iter().any(|it| it.place == *real) || hidden(real);
        self.meanings(path).iter().any(refused)
    }

    /// Returns what `word` can be: the values of a variable that it has in it, where the line gives these.
    pub(super) fn values_of(&self, word: String) -> Vec<String> {
        if !word.contains('$') {
            return vec![word];
        }
        let mut steps = Vec::new();
        deciding_commands::collect(&self.script, &mut steps);
        let set = steps.iter().flat_map(|step| step.sets.iter().zip(&step.values));
        let loops = self.commands().filter(|one| one.program() == "for" && one.words.len() > 3);
        let loops = loops.flat_map(|one| one.words[3..].iter().map(|value| (&one.words[1], value)));
        let given = set.chain(loops).filter(|(_, value)| !value.contains('$'));
        let placed = given.filter_map(|(name, value)| {
            let forms = [format!("${{{name}}}"), format!("${name}")];
            let form = forms.iter().find(|form| word.contains(form.as_str()))?;
            Some(word.replace(form.as_str(), value))
        });
        let found: Vec<String> = placed.collect();
        if found.is_empty() { vec![word] } else { found }
    }

    /// Returns the denial of the directory that a pattern found nothing in, of which `feeders` made an array.
    fn unlisted(&self, feeders: &[&ScriptCommand]) -> Option<RunDenial> {
        let arrays = feeders.iter().filter(|step| step.words.is_empty());
        let mut values = arrays.flat_map(|step| &step.values);
        values.find_map(|value| {
            let mut real = self.meanings(value).into_iter();
            real.find_map(|pattern| self.unexpanded(&pattern, value))
        })
    }

    /// Returns the denial that a command would have met that gave no reason, or `said` one of its own.
    fn unseen(&self, code: i32, said: Option<&str>) -> Option<RunDenial> {
        let DecidingCommands { own, feeders } = self.deciders();
        let is_code = |step: &&ScriptCommand| operation::is_interpreter(step.program());
        if own.iter().all(is_code) && !own.is_empty() {
            let handlers = self.error_handlers();
            let shown = ends(self.run.stdout);
            let has_result =
                cause::gives_verdict(&lines(&shown)) && !handlers.say(&shown, &|_| true);
            if handlers.pass_over_code() || has_result {
                return None;
            }
        }
        let deciders = DecidingCommands { own, feeders };
        let decides = |one: &ParsedCommand| self.decides_unheard(one, &deciders);
        let DecidingCommands { own, feeders } = &deciders;
        let unseen = self.lines.iter().filter(|_| said.is_some());
        let tried = |path: &str| self.is_tried(path);
        let tried: Option<&dyn Fn(&str) -> bool> = self.run.observed.then_some(&tried);
        let unseen = unseen.flat_map(|line| silent_commands::paths(line, code, &decides, tried));
        let unseen = unseen
            .flat_map(|(path, op)| self.values_of(path).into_iter().map(move |path| (path, op)));
        // What is said is no name of a file.
        let is_told = |path: &String| said.is_some_and(|said| said.contains(path.as_str()));
        let unseen = unseen.filter(|(path, _)| !is_told(path) || self.is_there(path));
        let unseen: Vec<_> = unseen.collect();
        let coded = self.commands().flat_map(operation::code).collect::<Vec<_>>();
        let absent = |path: &str| {
            let real = resolve(self.run.cwd, path.as_ref(), true, self.look.link);
            let is_text = !path.contains(['/', '.']) && coded.iter().any(|it| it.contains(path));
            !is_text && !(self.look.there)(&real) && self.expanded(&real).is_none()
        };
        // A file that does not exist cannot be read: its absence is the cause then.
        if unseen.iter().any(|(path, op)| *op == AccessKind::Read && absent(path)) {
            return None;
        }
        let found = unseen.iter().find_map(|(path, op)| {
            let refused = self.at(path, *op, RefusalClass::Access);
            // What a list of roots leaves out is there on the host alone.
            refused.or_else(|| (*op == AccessKind::Read).then(|| self.unread(path))?)
        });
        let found = found.or_else(|| said.and_then(|_| self.unread_by_code(code)));
        let found = found.or_else(|| said.and_then(|_| self.unlisted(feeders)))?;
        // What a handler says is of the file that it is for.
        let is_it =
            |text: &str| found.path.as_ref().is_some_and(|path| self.meanings(text).contains(path));
        let said = said.filter(|said| !said.trim().is_empty() && own.iter().any(is_code));
        let is_of_it = said.is_none_or(|said| {
            said.lines().any(download::had_nothing) || self.error_handlers().say(said, &is_it)
        });
        is_of_it.then_some(found)
    }
}
