//! The network as the cause: by the kernel's count of refused routes, the words of a message, and the
//! commands that can have reached a host.

use super::super::script::ScriptCommand;
use super::{
    DecidingCommands, DenialRule, FailureAnalysis, RunDenial, cause, download, ends, lines,
    network, of_line, strip,
};

impl FailureAnalysis<'_> {
    /// Returns the denial of a network of which `line` speaks, if a command that decided reaches any.
    pub(super) fn network_said(&self, line: &str) -> Option<RunDenial> {
        let reaching = self.reaching();
        let itself = || {
            network::is_loopback(line)
                || !reaching.is_empty() && reaching.iter().all(|step| network::is_to_itself(step))
        };
        let met = match self.run.refused_routes {
            Some(routes) => routes > 0,
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
        let text = match stderr.trim().is_empty() {
            true => ends(self.run.stdout),
            false => stderr.to_owned(),
        };
        if !self.is_of_package_manager(stderr) {
            return false;
        }
        let lines = lines(&text);
        let thrown = cause::ordinary(&lines).map(|at| lines[at]);
        !self.reaching().is_empty() && thrown.is_none_or(network::is_of_network)
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
