//! The remedy of a denial, from what the command was to do: the path that it meant, the line of git
//! that stands in it, the hosts that it names.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::Network;

use super::super::deciding_commands;
use super::super::network;
use super::super::operation;
use super::super::policy_index::{MeantPath, PolicyRemedy};
use super::super::script::ScriptCommand;
use super::super::silent_commands;
use super::{
    AccessKind, DecidingCommands, DenialRule, FailureAnalysis, RefusalClass, RunDenial, ends,
    resolve,
};
use crate::policy::GIT_GRANT;
use crate::policy::grant;

/// Programs that write a file beside the one that they make or change.
const REPLACING: [&str; 12] = [
    "zip", "ar", "ranlib", "strip", "objcopy", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz",
    "patch",
];

/// Calls of code that remove a directory with all that is in it.
const REMOVING: [&str; 5] = ["rmtree", "rmSync", ".rm(", "remove_tree", "rm_rf"];

impl FailureAnalysis<'_> {
    /// Returns the change that would allow what `denial` is about.
    pub(in crate::explain) fn remedy(&self, denial: &RunDenial) -> PolicyRemedy {
        match denial.rule {
            DenialRule::GitMetadata if self.edits_what_steers(denial) => {
                PolicyRemedy::GitConfigGrant
            }
            DenialRule::GitMetadata if self.is_named_otherwise(denial) => {
                PolicyRemedy::GitGrant(None)
            }
            DenialRule::GitMetadata => self.git_remedy(),
            DenialRule::GitSteering => PolicyRemedy::GitConfigGrant,
            DenialRule::NetworkRestricted => match self.host_service(&self.said()) {
                Some((host, port)) => self.ground.to_reach_port(port, named_service(&host, port)),
                None => self.ground.to_reach(self.named_hosts()),
            },
            _ => {
                // An archiver removes the file that it unpacks another in the place of.
                let is_file = |path: &PathBuf| {
                    !self.roles.written().iter().any(|it| self.meanings(it).contains(path))
                };
                let unpacks =
                    self.runs(&["tar", "bsdtar"]) && denial.path.as_ref().is_some_and(is_file);
                let edits = self.commands().any(operation::edits_in_place);
                let replaces = self.runs(&REPLACING) || edits || unpacks;
                let meant = MeantPath { path: self.meant(denial), replaces };
                self.ground.remedy(denial, &meant, self.look)
            }
        }
    }

    /// The path that the command was to write: what was refused may have been one above it, or one
    /// that lies in it.
    fn meant(&self, denial: &RunDenial) -> PathBuf {
        let Some(path) = &denial.path else { return PathBuf::new() };
        let written = self.roles.written().iter().flat_map(|written| {
            let bases = self.roles.bases.iter();
            bases.map(move |base| resolve(base, written.as_ref(), true, self.look.link))
        });
        let written: Vec<PathBuf> = written.collect();
        // What is unpacked comes below the directory.
        if self.runs(&["tar", "bsdtar"]) && written.contains(path) && (self.look.there)(path) {
            return path.join("*");
        }
        let below = written.iter().find(|written| written.starts_with(path));
        // What goes with all that is in it is refused at the first of that.
        let whole = self.runs(&["rm", "mv", "chmod", "chown"]);
        let around = written.iter().filter(|written| whole && path.starts_with(written));
        let around = || around.max_by_key(|written| written.components().count());
        below.or_else(around).cloned().or_else(|| self.removed_around(path)).unwrap_or(path.clone())
    }

    /// Returns the directory around `path` that code names to remove all of it.
    fn removed_around(&self, path: &Path) -> Option<PathBuf> {
        let code = self.commands().flat_map(operation::code);
        let removes = code.filter(|code| REMOVING.iter().any(|call| code.contains(call)));
        let named = removes.flat_map(|code| silent_commands::literals(code));
        let mut real = named.flat_map(|(name, _)| self.meanings(&name));
        real.find(|real| path.starts_with(real))
    }

    /// Returns whether the refused path is one that takes the place of a file beside it, which steers git.
    fn edits_what_steers(&self, denial: &RunDenial) -> bool {
        let steers = |path: &PathBuf| {
            let refused = self.ground.refuses(path, AccessKind::Write, RefusalClass::Access);
            let is_beside =
                denial.path.as_ref().is_some_and(|refused| refused.parent() == path.parent());
            is_beside && refused.is_some_and(|(rule, _)| rule == DenialRule::GitSteering)
        };
        let mut written = self.roles.written().iter().flat_map(|written| self.meanings(written));
        self.commands().any(operation::edits_in_place) && written.any(|path| steers(&path))
    }

    /// Returns whether another command than git names the refused path.
    fn is_named_otherwise(&self, denial: &RunDenial) -> bool {
        let mut steps = Vec::new();
        deciding_commands::collect(&self.script, &mut steps);
        let mut others = steps.into_iter().filter(|step| step.program() != "git");
        others.any(|step| {
            let mut words = step.words.iter().chain(&step.files);
            words.any(|word| {
                let mut bases = self.roles.bases.iter();
                bases.any(|base| {
                    let real = resolve(base, word.as_ref(), true, self.look.link);
                    denial.path.as_ref() == Some(&real)
                })
            })
        })
    }

    /// Returns a line of git alone if that grants itself what this one lacked, else the grant.
    fn git_remedy(&self) -> PolicyRemedy {
        let policy = self.run.policy;
        let line = grant::typed_line(self.run.command, self.run.original);
        let judged = line.filter(|_| policy.infer_grants);
        let Some(line) = judged.filter(|_| !policy.grants.iter().any(|one| one == GIT_GRANT))
        else {
            return PolicyRemedy::GitGrant(None);
        };
        let workspace = policy.workspace.as_path();
        let why = grant::infer(line, workspace, self.run.cwd).because;
        let mut steps = Vec::new();
        deciding_commands::collect(&self.script, &mut steps);
        let DecidingCommands { own, .. } = self.deciders();
        let all = own.into_iter().chain(steps.iter().copied());
        let mut lines = all.filter_map(|step| alone(step, &steps));
        let granted =
            |line: &String| !grant::infer(line, workspace, self.run.cwd).granted.is_empty();
        match lines.find(granted) {
            Some(line) => PolicyRemedy::GitLine { line, why },
            None => PolicyRemedy::GitGrant(Some(why)),
        }
    }

    /// The hosts that the deciding commands speak with, if they do so by a proxy and with no others.
    fn named_hosts(&self) -> Vec<String> {
        if self.run.refused_routes.is_none() {
            // There is no network of its own that a proxy could lead out of.
            return Vec::new();
        }
        let reaching = self.reaching();
        let mut hosts: Vec<String> = Vec::new();
        for step in reaching {
            let found = network::hosts_by_proxy(step);
            if found.is_empty() {
                return Vec::new();
            }
            hosts.extend(found);
        }
        hosts.sort();
        hosts.dedup();
        hosts
    }

    fn said(&self) -> String {
        let stderr = ends(self.run.stderr.unwrap_or_default());
        if stderr.trim().is_empty() { ends(self.run.stdout) } else { stderr }
    }

    /// Returns the service of the host's loopback that the command looked for on its own.
    pub(super) fn host_service(&self, said: &str) -> Option<(String, u16)> {
        let private = self.run.refused_routes == Some(0) && self.ground.is_private();
        let silent = said.trim().is_empty();
        if !private || !(silent || network::is_refusal(said)) {
            return None;
        }
        let reaching = self.reaching();
        let words = reaching.iter().map(|step| step.words.join(" "));
        let lines = said.lines().filter(|_| !reaching.is_empty()).map(str::to_owned);
        let mut services = words.chain(lines).filter_map(|text| network::own_service(&text));
        services.find(|(_, port)| (self.look.listens)(*port))
    }

    /// Returns a denial if the host has the service that the command did not find on its own loopback.
    pub(super) fn found_no_service(&self, stderr: &str) -> Option<RunDenial> {
        let said = if stderr.trim().is_empty() { ends(self.run.stdout) } else { stderr.to_owned() };
        let (host, port) = self.host_service(&said)?;
        // One that the proxy may lead to was reached, and answered itself.
        let is_allowed = match &self.run.policy.network {
            Network::Domains { allow, .. } => {
                named_service(&host, port).iter().any(|rule| allow.contains(rule))
            }
            _ => false,
        };
        (!is_allowed).then(|| self.network()).flatten()
    }
}

/// The rules by which a service of the host's loopback is reached.
fn named_service(host: &str, port: u16) -> Vec<String> {
    let mut hosts = vec![format!("{host}:{port}")];
    if host == "localhost" {
        // A name alone leads to no address that is special.
        hosts.push(format!("127.0.0.1:{port}"));
    }
    hosts
}

/// The git command of `step` as a line of its own, from the directory that `steps` before it enter.
fn alone(step: &ScriptCommand, steps: &[&ScriptCommand]) -> Option<String> {
    let plain =
        |step: &ScriptCommand| step.words.iter().all(|word| !word.contains(['$', '`', '*', '\n']));
    let is_git = step.program() == "git" && plain(step) && step.files.is_empty();
    if !is_git || step.words.iter().any(|word| word == "-") {
        return None;
    }
    let at = steps.iter().position(|one| std::ptr::eq(*one, step)).unwrap_or_default();
    let entered = steps[..at].iter().filter(|one| one.program() == "cd" && plain(one));
    let lines: Vec<String> = entered.copied().chain([step]).map(|one| quoted(&one.words)).collect();
    Some(lines.join(" && "))
}

/// Quotes `words` for a shell.
fn quoted(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~^".contains(c);
    let quote = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
