//! Changes of a policy that would let a refused act be done ([`PolicyRemedy`]), and no more than that.
//! Pure but for what the host is asked.

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Mode, Network, TmpPolicy, WirePath};

use super::super::RunDenial;
use super::super::resolve_path::HostLookup;
use super::super::rule::DenialRule;
use super::{Asked, KERNEL, PolicyIndex, holds, matches};
use crate::policy::path_glob::PathGlob;

/// A list of denials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::explain) enum DenyList {
    Read,
    Write,
    ReadGlobs,
    WriteGlobs,
}

/// A change that would let a refused act be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::explain) enum PolicyRemedy {
    /// One more writable root; the mode changes too unless it `writes` already.
    WritableRoot { directory: PathBuf, writes: bool },
    /// A mode in which the workspace can be written.
    WritableMode,
    /// Temporary directories.
    TemporaryDirectories,
    /// None of the policy: the user may not write in this directory either.
    WriteElsewhere(PathBuf),
    /// The removal of these entries.
    WithoutEntries(Vec<(DenyList, String)>),
    /// One more readable path.
    ReadableEntry(PathBuf),
    /// A change of the profile, in its own words.
    ProfileRules(String),
    /// A copy in place of a move.
    Copy,
    /// None of any policy, for this reason.
    OutsideTheSandbox(&'static str),
    /// A line for git alone; the reason is why this one was granted nothing.
    GitLine { line: String, why: String },
    /// A grant; the reason is why the line was granted nothing, if it was judged.
    GitGrant(Option<String>),
    /// The grant for git's settings.
    GitConfigGrant,
    /// These hosts and no others; `listed` if the policy has such a list already.
    ReachableHosts { hosts: Vec<String>, listed: bool },
    /// A port of the host's loopback at the command's own.
    HostPort(u16),
    /// The whole network.
    WholeNetwork,
    /// The action of a rule.
    ByRule(DenialRule),
}

/// Directories that the command has of its own.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

impl PolicyIndex<'_> {
    /// Returns the change that would allow what `denial` is about; `meant` is the path that the command
    /// was to come to.
    pub(in crate::explain) fn remedy(
        &self,
        denial: &RunDenial,
        meant: &Path,
        look: HostLookup<'_>,
    ) -> PolicyRemedy {
        let Some(path) = &denial.path else {
            return match denial.rule {
                DenialRule::RuntimeDenied => {
                    PolicyRemedy::OutsideTheSandbox("no policy opens that in it")
                }
                rule => PolicyRemedy::ByRule(rule),
            };
        };
        match denial.rule {
            DenialRule::OutsideWrite => self.to_write(path, meant, look),
            DenialRule::ReadDenied | DenialRule::RuntimeDenied => {
                self.to_have(denial, path, meant, look)
            }
            DenialRule::PlatformDenied if KERNEL.iter().any(|tree| path.starts_with(tree)) => {
                PolicyRemedy::OutsideTheSandbox("no policy opens what the kernel shows of itself")
            }
            rule => PolicyRemedy::ByRule(rule),
        }
    }

    fn to_write(&self, path: &Path, meant: &Path, look: HostLookup<'_>) -> PolicyRemedy {
        let writes = self.policy.mode == Mode::WorkspaceWrite;
        if path.starts_with(&self.workspace) && !writes {
            return PolicyRemedy::WritableMode;
        }
        let temporary = TEMPORARY.iter().any(|place| path.starts_with(place));
        if temporary && self.policy.tmp == TmpPolicy::None {
            return PolicyRemedy::TemporaryDirectories;
        }
        let above = meant.ancestors().skip(1).find(|above| (look.there)(above));
        let directory = above.unwrap_or(Path::new("/")).to_owned();
        match directory.parent().is_some() && (look.may_write)(&directory) {
            true => PolicyRemedy::WritableRoot { directory, writes },
            false => PolicyRemedy::WriteElsewhere(directory),
        }
    }

    /// Returns all that keeps `path` from being read or changed: one entry alone would not do.
    fn to_have(
        &self,
        denial: &RunDenial,
        path: &Path,
        meant: &Path,
        look: HostLookup<'_>,
    ) -> PolicyRemedy {
        let around = if path.starts_with(meant) { meant } else { path };
        if let Some(says) = self.of_profile(path, around, denial.op == Some("write"), look) {
            return PolicyRemedy::ProfileRules(says);
        }
        let entries = self.entries(path, denial.rule);
        if !entries.is_empty() {
            return PolicyRemedy::WithoutEntries(entries);
        }
        if denial.rule == DenialRule::ReadDenied {
            let there = (look.there)(path);
            return match there && self.readable.is_some() {
                true => PolicyRemedy::ReadableEntry(path.to_owned()),
                false => PolicyRemedy::ByRule(denial.rule),
            };
        }
        if self.is_root(path) {
            return PolicyRemedy::OutsideTheSandbox(
                "no policy lets its own roots be removed or moved",
            );
        }
        PolicyRemedy::Copy
    }

    fn entries(&self, path: &Path, rule: DenialRule) -> Vec<(DenyList, String)> {
        let of = |list, places: &[PathBuf], written: &[WirePath]| -> Vec<(DenyList, String)> {
            let held = |place: &PathBuf| {
                path.starts_with(place) || holds(std::slice::from_ref(place), path)
            };
            let both = places.iter().zip(written).filter(|(place, _)| held(place));
            both.map(|(_, written)| (list, written.as_path().display().to_string())).collect()
        };
        let by = |list, texts: &[String]| -> Vec<(DenyList, String)> {
            let held =
                |text: &&String| PathGlob::parse(text).is_ok_and(|glob| matches(&glob, path));
            texts.iter().filter(held).map(|text| (list, text.clone())).collect()
        };
        let policy = self.policy;
        let read = of(DenyList::Read, &self.deny_read, &policy.deny_read);
        let read = read.into_iter().chain(by(DenyList::ReadGlobs, &policy.deny_read_globs));
        let written = of(DenyList::Write, &self.deny_write, &policy.deny_write);
        let written = written.into_iter().chain(by(DenyList::WriteGlobs, &policy.deny_write_globs));
        match rule {
            DenialRule::ReadDenied => read.collect(),
            _ => written.collect(),
        }
    }

    /// Says which rules of the profile have to change for `path`; a change takes reading, too.
    fn of_profile(
        &self,
        path: &Path,
        meant: &Path,
        writes: bool,
        look: HostLookup<'_>,
    ) -> Option<String> {
        let law = self.law?;
        let below = path.strip_prefix(&self.workspace).ok()?;
        let asked = [(Asked::Read, true), (Asked::Modify, writes)];
        let denied = asked.iter().filter(|(op, counts)| *counts && !law.allows(*op, below));
        let called = called(meant, meant.strip_prefix(&self.workspace).ok()?, look);
        let says: Vec<String> = denied.map(|(op, _)| law.remedy(*op, below, &called)).collect();
        (!says.is_empty()).then(|| says.join("; "))
    }

    /// Returns the change for a service of the host's loopback, which rules call `hosts`.
    pub(in crate::explain) fn to_reach_port(&self, port: u16, hosts: Vec<String>) -> PolicyRemedy {
        match &self.policy.network {
            Network::None {} => PolicyRemedy::HostPort(port),
            _ => self.to_reach(hosts),
        }
    }

    /// Returns the change that would let `hosts` be reached, by a proxy that leads to these alone.
    pub(in crate::explain) fn to_reach(&self, hosts: Vec<String>) -> PolicyRemedy {
        let listed = match &self.policy.network {
            Network::Domains { .. } => true,
            Network::None {} if hosts.is_empty() => return PolicyRemedy::WholeNetwork,
            Network::None {} => false,
            _ => return PolicyRemedy::WholeNetwork,
        };
        PolicyRemedy::ReachableHosts { hosts, listed }
    }
}

/// The rule that a command needs for what lies at `path`, which is `below` the workspace: git's files
/// and those of an editor of streams come with others.
fn called(path: &Path, below: &Path, look: HostLookup<'_>) -> String {
    let shown = below.display().to_string();
    let temporary = below.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.strip_prefix("sed").is_some_and(|rest| rest.len() == 6)
    });
    match below.parent() {
        _ if below.starts_with(".git") => ".git/**".to_owned(),
        Some(parent) if temporary => parent.join("*").display().to_string(),
        _ if (look.there)(&path.join(".")) => format!("{shown}/**"),
        _ => shown,
    }
}
