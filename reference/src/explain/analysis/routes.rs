//! The network as the cause: by the kernel's count of refused routes, the words of a message, and the
//! commands that can have reached a host.

use super::super::script::{self, ScriptCommand};
use super::super::{UnroutedProcess, deciding_commands, operation};
use super::{
    DecidingCommands, DenialRule, FailureAnalysis, RunDenial, cause, download, ends, lines,
    network, of_line, strip,
};
use crate::control::ProcessFate;

impl FailureAnalysis<'_> {
    /// Returns the denial of a network of which `line` speaks, if a command that decided reaches any.
    pub(super) fn network_said(&self, line: &str) -> Option<RunDenial> {
        let reaching = self.reaching();
        let itself = || {
            network::is_loopback(line)
                || !reaching.is_empty() && reaching.iter().all(|step| network::is_to_itself(step))
        };
        let met = match self.run.refused_routes {
            Some(routes) => routes > 0 && self.can_be_unrouted(),
            None => !itself(),
        };
        (met && !reaching.is_empty()).then(|| self.network()).flatten()
    }

    /// Commands that may have reached a host, of those that can be why.
    pub(super) fn reaching(&self) -> Vec<&ScriptCommand> {
        let DecidingCommands { own, feeders } = self.deciders();
        own.into_iter().chain(feeders).filter(|step| network::may_reach(step)).collect()
    }

    /// Returns whether a refused route is the cause, where the output names no other cause.
    pub(super) fn met_no_route(&self, stderr: &str) -> bool {
        let may_be = self.can_be_unrouted() && self.ended_unrouted(stderr);
        if !may_be && !self.is_fed_by_download(stderr) {
            return false;
        }
        let text = match stderr.trim().is_empty() {
            true => ends(self.run.stdout),
            false => stderr.to_owned(),
        };
        if !self.is_of_package_manager(stderr) {
            return false;
        }
        let lines = lines(&text);
        let thrown = cause::ordinary(&lines).map(|at| lines[at]);
        // What a download was to give to another was nothing.
        let feeds = || {
            let feeders = self.deciders().feeders;
            feeders.iter().any(|step| is_fetcher(Some(step.program())))
        };
        let fits = |line| network::is_of_network(line) || download::had_nothing(line) && feeds();
        !self.reaching().is_empty() && thrown.is_none_or(fits)
    }

    /// Returns whether a refused route can be what a package manager failed of, where one was run:
    /// it asks for its own updates whatever it is told to do.
    fn is_of_package_manager(&self, stderr: &str) -> bool {
        let reaching = self.reaching();
        if !reaching.iter().all(|step| step.program() == "npm") {
            return true;
        }
        let code = self.run.exit_code.unwrap_or_default();
        let shown = ends(self.run.stdout);
        if shown.lines().any(|line| line.starts_with("> ")) {
            return self.recipe_is_offline(code, stderr);
        }
        if let Some(code) = stderr.lines().find_map(|line| strip(line).strip_prefix("code ")) {
            return network::is_code(code);
        }
        let mut own = stderr.lines().filter(|line| strip(line) != *line).peekable();
        // Where it is told to be silent: a file that it could not use has another code.
        let asks = reaching.iter().any(|step| network::asks_registry(step));
        own.peek().is_none() && code == 1 && asks || own.any(network::is_of_network)
    }

    /// Returns whether a process that had no route can have decided: not if the kernel tells that the failure
    /// of none was passed on.
    fn can_be_unrouted(&self) -> bool {
        let unrouted = self.run.unrouted;
        unrouted.is_empty() || unrouted.iter().any(|one| !self.is_unrouted_apart(one))
    }

    /// Returns whether nothing is said, and what decided had its input of a download that had no route, of which
    /// the status was not passed on.
    fn is_fed_by_download(&self, stderr: &str) -> bool {
        let told = || self.says_what_it_was_told(stderr) || self.lacks_products(stderr);
        let silent =
            (stderr.trim().is_empty() || told()) && ends(self.run.stdout).trim().is_empty();
        let feeders = self.deciders().feeders;
        silent
            && self.run.unrouted.iter().any(|one| {
                let program = one.program.as_deref();
                let of_git = program.is_some_and(|name| name.starts_with("git-remote-"));
                let program = if of_git { Some("git") } else { program };
                let is_it = |step: &&ScriptCommand| Some(step.program()) == program;
                (of_git || is_fetcher(program)) && feeders.iter().any(is_it)
            })
    }

    fn is_unrouted_apart(&self, one: &UnroutedProcess) -> bool {
        self.fate(one.fate, one.status) == Some(ProcessFate::Apart)
    }

    /// Returns whether the kernel tells of no process without a route, or of one that is a command of the line
    /// that decided, or of one that failed last, and the output has no other reason.
    fn ended_unrouted(&self, stderr: &str) -> bool {
        let unrouted = self.run.unrouted;
        let is_command = |one: &UnroutedProcess| {
            let program = one.program.as_deref().filter(|name| !operation::is_interpreter(name));
            // Git does not wait for the shell that it reaches others by.
            let of_git = program == Some("ssh") && !self.runs(&["ssh"]);
            let program = if of_git { Some("git") } else { program };
            !self.is_unrouted_apart(one) && self.is_program_of_decider(program) == Some(true)
        };
        let told = lines(stderr);
        let speaks_of_it = || {
            let is_it = |at: &usize| network::is_of_network(told[*at]);
            (0..told.len()).filter(is_it).any(|at| !self.is_gone_on_after(&told, at))
        };
        let is_last = |one: &UnroutedProcess| {
            let said = || {
                self.gives_no_reason(stderr)
                    || speaks_of_it()
                    || self.error_handlers().say(stderr, &network::is_host)
            };
            let passes_over = || {
                stderr.trim().is_empty() && self.error_handlers().pass_over(one.program.as_deref())
            };
            let fate = self.fate(one.fate, one.status);
            fate.is_none() || fate == Some(ProcessFate::FailedLast) && said() && !passes_over()
        };
        unrouted.is_empty()
            || unrouted.iter().any(|one| {
                let known = self.failed_by(one.program.as_deref(), stderr);
                known.unwrap_or_else(|| is_command(one) || is_last(one))
            })
    }

    /// Returns whether a command of `program` is why a recipe failed of which make says no more; none if no command
    /// of such a recipe is one.
    fn failed_by(&self, program: Option<&str>, stderr: &str) -> Option<bool> {
        let said = [stderr, &ends(self.run.stdout)].join("\n");
        let code = download::of_recipe(&said)?;
        let recipes = self.failed_recipes();
        let mut known = recipes.iter().filter_map(|recipe| {
            let recipe = script::parse(recipe);
            let mut all = Vec::new();
            deciding_commands::collect(&recipe, &mut all);
            let is_it = |step: &&ScriptCommand| Some(step.program()) == program;
            all.iter().any(is_it).then_some(())?;
            let DecidingCommands { own, feeders } = deciding_commands::deciders(&recipe, code);
            Some(own.iter().chain(&feeders).any(is_it))
        });
        known.next()
    }

    pub(super) fn network(&self) -> Option<RunDenial> {
        self.ground.restricts_network().then_some(RunDenial {
            rule: DenialRule::NetworkRestricted,
            op: Some("connect"),
            path: None,
            what: None,
        })
    }

    /// Returns whether a command that make or a package manager echoes on stdout failed for want of
    /// a network.
    pub(super) fn recipe_is_offline(&self, code: i32, said: &str) -> bool {
        let make = self.runs(&["make", "gmake"]);
        if !make && !self.runs(&["npm", "yarn", "pnpm"]) {
            return false;
        }
        let stdout = ends(self.run.stdout);
        let shown = |line: &str| match make {
            true => Some(line.to_owned()).filter(|line| !line.starts_with("make")),
            false => line.strip_prefix("> ").map(str::to_owned),
        };
        let code = if make { download::of_recipe(said).unwrap_or(code) } else { code };
        let shown = stdout.lines().filter_map(shown);
        shown.into_iter().any(|line| network::failed(&of_line(&line), code, said))
    }
}

/// Returns whether `program` only fetches what it gives to others.
fn is_fetcher(program: Option<&str>) -> bool {
    program.is_some_and(|program| ["curl", "wget"].contains(&program))
}
