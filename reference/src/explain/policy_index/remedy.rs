//! Changes of a policy that would let a refused act be done ([`PolicyRemedy`]), and no more than that.
//! Pure but for what the host is asked.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

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
    /// One more socket of the host.
    ListedSocket(PathBuf),
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

/// What a command was to come to, where it was refused.
#[derive(Debug)]
pub(in crate::explain) struct MeantPath {
    pub(in crate::explain) path: PathBuf,
    /// Its program writes another file first, and puts that in the place of this one.
    pub(in crate::explain) replaces: bool,
}

/// Directories that the command has of its own.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

impl PolicyIndex<'_> {
    /// Returns the change that would allow what `denial` is about; `meant` is the path that the command
    /// was to come to.
    pub(in crate::explain) fn remedy(
        &self,
        denial: &RunDenial,
        meant: &MeantPath,
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
            DenialRule::RuntimeDenied if denial.op == Some("connect") => self.to_connect(path),
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

    fn to_connect(&self, path: &Path) -> PolicyRemedy {
        let mut listed = self.policy.unix_sockets.iter().map(WirePath::as_path);
        // One that is listed was bound anew during the run.
        match listed.any(|listed| listed == path) {
            true => PolicyRemedy::ByRule(DenialRule::RuntimeDenied),
            false => PolicyRemedy::ListedSocket(path.to_owned()),
        }
    }

    fn to_write(&self, path: &Path, meant: &MeantPath, look: HostLookup<'_>) -> PolicyRemedy {
        let writes = self.policy.mode == Mode::WorkspaceWrite;
        if path.starts_with(&self.workspace) && !writes {
            return PolicyRemedy::WritableMode;
        }
        let temporary = TEMPORARY.iter().any(|place| path.starts_with(place));
        if temporary && self.policy.tmp == TmpPolicy::None {
            return PolicyRemedy::TemporaryDirectories;
        }
        let mut above = meant.path.ancestors().skip(1).filter(|above| (look.there)(above));
        // What git writes in a repository comes with others of its files.
        let is_git =
            |above: &&Path| above.ends_with(".git") || above.extension() == Some("git".as_ref());
        let above = above.clone().find(is_git).or_else(|| above.next());
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
        meant: &MeantPath,
        look: HostLookup<'_>,
    ) -> PolicyRemedy {
        let writes = denial.op == Some("write");
        let journals = if writes { journals(path, look) } else { Vec::new() };
        let asked = || std::iter::once(path).chain(journals.iter().map(PathBuf::as_path));
        let mut says: Vec<String> = asked()
            .filter_map(|path| self.of_profile(path, &self.called(path, meant, look)?, writes))
            .collect();
        // One rule may be about all of them.
        says.dedup();
        if !says.is_empty() {
            return PolicyRemedy::ProfileRules(says.join("; "));
        }
        let mut entries: Vec<(DenyList, String)> = Vec::new();
        for entry in asked().flat_map(|path| self.entries(path, denial.rule)) {
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
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
    fn of_profile(&self, path: &Path, called: &str, writes: bool) -> Option<String> {
        let law = self.law?;
        let below = path.strip_prefix(&self.workspace).ok()?;
        let asked = [(Asked::Read, true), (Asked::Modify, writes)];
        let denied = asked.iter().filter(|(op, counts)| *counts && !law.allows(*op, below));
        let says: Vec<String> = denied.map(|(op, _)| law.remedy(*op, below, called)).collect();
        (!says.is_empty()).then(|| says.join("; "))
    }

    /// Returns the rule that a command needs for `path`, where it was to come to what is `meant`: git's
    /// files, those with a made-up name, and a directory to be made come with others.
    fn called(&self, path: &Path, meant: &MeantPath, look: HostLookup<'_>) -> Option<String> {
        let around = if path.starts_with(&meant.path) { meant.path.as_path() } else { path };
        let below = around.strip_prefix(&self.workspace).ok()?;
        let shown = below.display().to_string();
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        let temporary =
            meant.replaces || MADE_UP.as_ref().is_some_and(|regex| regex.is_match(&name));
        let filled = FILLED.contains(&name.as_ref())
            || (look.there)(&around.join("."))
            || meant.path != path && meant.path.starts_with(path);
        let git = below.iter().position(|name| name == ".git");
        Some(match below.parent() {
            _ if git.is_some() => {
                let whole: PathBuf = below.iter().take(git.unwrap_or_default() + 1).collect();
                whole.join("**").display().to_string()
            }
            Some(parent) if temporary => parent.join("*").display().to_string(),
            _ if filled => below.join("**").display().to_string(),
            _ => shown,
        })
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

/// Names that programs make up for a file that is to replace another: sed, perl, patch, zip, binutils,
/// rsync, makers of temporary files, and Python's compiler.
static MADE_UP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:sed|XX|zi|st)[A-Za-z0-9]{6}$|\.[or][A-Za-z0-9]{6}$|^\..+\.[A-Za-z0-9]{6}$|\.pyc\.[0-9]+$|^tmp\.?[[:word:]]{8,}$").ok()
});
/// Directories that a tool makes and fills.
const FILLED: [&str; 3] = ["__pycache__", "node_modules", "target"];

/// Endings of the files that SQLite makes beside a database: of its ordinary journal, and of a log of
/// writes.
const JOURNAL: [&str; 1] = ["-journal"];
const WRITE_AHEAD: [&str; 2] = ["-wal", "-shm"];
/// Endings of databases.
const DATABASE: [&str; 4] = ["db", "sqlite", "sqlite3", "db3"];

/// Returns the other files that a write to the database at `path`, or to a file beside it, makes.
fn journals(path: &Path, look: HostLookup<'_>) -> Vec<PathBuf> {
    let text = path.display().to_string();
    let stem = |endings: &[&str]| endings.iter().find_map(|end| text.strip_suffix(end));
    let known = |base: &str| (look.there)(Path::new(base));
    let (base, endings) = match (stem(&JOURNAL), stem(&WRITE_AHEAD)) {
        (Some(base), _) if known(base) => (base, &JOURNAL[..]),
        (_, Some(base)) if known(base) => (base, &WRITE_AHEAD[..]),
        _ if path.extension().is_some_and(|end| DATABASE.iter().any(|one| end == *one)) => {
            (text.as_str(), &JOURNAL[..])
        }
        _ => return Vec::new(),
    };
    let names =
        std::iter::once(base.to_owned()).chain(endings.iter().map(|end| format!("{base}{end}")));
    names.map(PathBuf::from).filter(|one| one != path).collect()
}
