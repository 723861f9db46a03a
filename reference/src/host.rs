//! A snapshot of this host for one request: [`HostSnapshot`], the only input of planning besides the
//! request, and the only code before a run that reads the file system.

mod baseline;
mod git;
mod git_commands;
mod git_history;
mod git_settings;
mod git_steering;
mod globs;
mod links;
mod path_kinds;
mod paths;
mod platform;
mod protected;
mod reachability;
mod reopened;
mod shell_words;
mod sockets;
mod tree;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxproof_cases::protocol::{Mode, Policy, Protect, Readable, Run, WirePath};

use crate::policy::path_rules::PathRules;
use crate::sys;

use crate::sys::case_insensitive as fold;
pub(crate) use baseline::{PlatformEntry, cannot_execute, is_platform};
pub(crate) use git::is_in_another_repository;
pub(crate) use globs::PatternExpansion;
pub(crate) use links::ServiceLink;
pub(crate) use paths::{ExistingPath, MissingPath, PathPassage};
pub(crate) use platform::settings_platform;
pub(crate) use protected::ProtectedPaths;
pub(crate) use reopened::ReopenedDirectory;
pub(crate) use tree::{NodeKind, WorkspaceNode, WorkspaceTree};

/// Directories that hold other people's temporary files.
const TMP: [&str; 2] = ["/tmp", "/var/tmp"];
/// Directories that hold the sockets and state of host services.
const SERVICES: [&str; 2] = ["/run", "/var/run"];
/// Parts of a fresh `/proc` that a uid 0 without capabilities could still write.
const KNOBS: [&str; 8] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/mtrr",
];

/// A snapshot of the host, as far as one request is concerned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HostSnapshot {
    /// The launcher's environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Every path the request names, and its object; absent paths are missing here.
    pub(crate) paths: BTreeMap<PathBuf, ExistingPath>,
    /// Links and directories that the names of grants lead through: a grant holds for the name that
    /// it was given.
    pub(crate) ways: Vec<PathPassage>,
    /// Links in the directories of service state.
    pub(crate) service_links: Vec<ServiceLink>,
    /// The reason why nothing was found, by path of the request.
    pub(crate) reasons: BTreeMap<PathBuf, &'static str>,
    /// Paths of the request that look like patterns, where nothing of that name is.
    pub(crate) patterns: Vec<PathBuf>,
    /// Listed sockets that are no sockets, and the kind of each.
    pub(crate) no_sockets: Vec<(PathBuf, &'static str)>,
    /// Writable roots that belong to another user although the run is root's, and the owner of
    /// each.
    pub(crate) foreign_roots: Vec<(PathBuf, u32)>,
    /// Mounts whose source was removed: nothing can be mounted on them.
    pub(crate) unlinked: Vec<PathBuf>,
    /// Denied paths where nothing is.
    pub(crate) absent: BTreeMap<PathBuf, MissingPath>,
    /// The deny patterns of the request whose base can be resolved.
    pub(crate) globs: BTreeMap<String, PatternExpansion>,
    /// Temp directories that exist (real paths).
    pub(crate) tmp: Vec<PathBuf>,
    /// Directories of service state that exist and are no links.
    pub(crate) services: Vec<PathBuf>,
    /// Writable knobs under `/proc` that exist.
    pub(crate) knobs: Vec<PathBuf>,
    /// The target of `/etc/resolv.conf`.
    pub(crate) resolver: Option<PathBuf>,
    /// The paths that `protect` covers.
    pub(crate) protected: ProtectedPaths,
    /// Protected directories that parts of stay writable.
    pub(crate) opened: Vec<ReopenedDirectory>,
    /// Paths that running programs needs, where only listed roots can be read.
    pub(crate) platform: Vec<PlatformEntry>,
    /// The file that the command executes, where not everything can be read.
    pub(crate) program: Option<PathBuf>,
    /// The workspace under a profile, if the request has one.
    pub(crate) tree: Option<WorkspaceTree>,
    /// Path sockets that are bound on the host.
    pub(crate) sockets: Vec<PathBuf>,
    /// A command's sockets can be told from the host's.
    pub(crate) tells_sockets: bool,
    /// The host has refused to mount a fresh `/proc`.
    pub(crate) lacks_proc: bool,
}

impl HostSnapshot {
    /// Looks up the paths that `policy`, `law` and `run` name.
    pub(crate) fn observe(policy: &Policy, law: Option<&Arc<PathRules>>, run: &Run) -> Self {
        let existing = |names: &[&str]| -> Vec<PathBuf> {
            names.iter().filter_map(|name| std::fs::canonicalize(name).ok()).collect()
        };
        let mut finder = paths::PathFinder::default();
        let mut host = Self {
            env: sys::launcher_environment(),
            paths: named(policy, run).filter_map(|path| finder.entry(path)).collect(),
            tmp: existing(&TMP),
            services: SERVICES
                .iter()
                .map(PathBuf::from)
                .filter(|path| is_directory(path))
                .collect(),
            knobs: KNOBS.iter().map(PathBuf::from).filter(|path| path.exists()).collect(),
            resolver: std::fs::canonicalize("/etc/resolv.conf").ok(),
            sockets: sockets::bound(),
            tells_sockets: sys::tells_sockets(),
            ..Self::default()
        };
        let denied = policy.deny_read.iter().chain(&policy.deny_write).map(WirePath::as_path);
        let denied = denied.filter(|path| !host.paths.contains_key(*path));
        host.absent =
            denied.filter_map(|path| Some((path.to_owned(), paths::missing(path)?))).collect();
        if policy.readable != Readable::All {
            host.platform = baseline::pieces();
            host.program = baseline::program(run, &host.env);
        }
        host.ways = links::ways(granted(policy).map(Path::to_owned).chain(host.program_name(run)));
        host.service_links = links::in_directories(&host.services);
        host.unlinked = links::unlinked_mounts();
        let patterns = named(policy, run).filter(|path| path_kinds::is_pattern(path));
        host.patterns = patterns.map(Path::to_owned).collect();
        let lost = named(policy, run).filter(|path| host.at(path).is_none());
        host.reasons = lost.map(|path| (path.to_owned(), path_kinds::absence(path))).collect();
        host.no_sockets = path_kinds::other_than_sockets(&policy.unix_sockets);
        host.foreign_roots = host.foreign_roots(policy);
        let root = host.at(policy.workspace.as_path()).map(|found| found.real.clone());
        host.tree = root.zip(law).map(|(root, law)| tree::observe(&root, law));
        let globs = policy.deny_read_globs.iter().chain(&policy.deny_write_globs);
        let expanded =
            globs.filter_map(|glob| Some((glob.clone(), globs::expand(glob, &mut finder)?)));
        host.globs = expanded.collect();
        host.protected = host.protected_names(policy);
        let there = std::mem::take(&mut host.protected.there);
        (host.opened, host.protected.there) = reopened::opened(policy, there);
        host
    }

    /// Restricts protected directories to their existing parts; returns the directories that lack a
    /// part.
    pub(crate) fn freeze_reopened(&mut self) -> Vec<PathBuf> {
        let lacking: Vec<&mut ReopenedDirectory> =
            self.opened.iter_mut().filter(|one| !one.whole).collect();
        let settled = lacking.into_iter().map(|one| {
            one.whole = true;
            one.directory.clone()
        });
        let settled: Vec<PathBuf> = settled.collect();
        let directories =
            settled.iter().map(|directory| ExistingPath::at(directory.clone(), true, Vec::new()));
        self.protected.there.extend(directories);
        settled
    }

    /// Returns the location of `path`, if the request denies it and it does not exist.
    pub(crate) fn missing(&self, path: &Path) -> Option<&MissingPath> {
        self.absent.get(path)
    }

    /// Returns the reason why nothing is at `path`, in words that follow its name.
    pub(crate) fn absence(&self, path: &Path) -> &'static str {
        self.reasons.get(path).copied().unwrap_or("does not exist")
    }

    /// Returns the object at `path`, if the request names it and it exists.
    pub(crate) fn at(&self, path: &Path) -> Option<&ExistingPath> {
        self.paths.get(path)
    }

    fn program_name(&self, run: &Run) -> Option<PathBuf> {
        self.program.as_ref().and_then(|_| baseline::program_name(run, &self.env))
    }

    fn protected_names(&self, policy: &Policy) -> ProtectedPaths {
        if policy.protect == Protect::None || policy.mode != Mode::WorkspaceWrite {
            return ProtectedPaths::default();
        }
        let roots = std::iter::once(&policy.workspace).chain(&policy.writable);
        let roots = roots.filter_map(|root| self.at(root.as_path()));
        let mut roots: Vec<PathBuf> = roots.map(|root| root.real.clone()).collect();
        let home = self.home().filter(|home| roots.iter().any(|root| home.starts_with(root)));
        roots.extend(home);
        roots.sort();
        roots.dedup();
        ProtectedPaths::observe(&roots, &policy.grants)
    }

    fn foreign_roots(&self, policy: &Policy) -> Vec<(PathBuf, u32)> {
        if policy.mode != Mode::WorkspaceWrite {
            return Vec::new();
        }
        let roots = std::iter::once(&policy.workspace).chain(&policy.writable);
        let roots = roots.filter_map(|root| self.at(root.as_path()));
        roots
            .filter_map(|root| Some((root.real.clone(), path_kinds::foreign_owner(&root.real)?)))
            .collect()
    }

    /// The launcher's home: shells and git look for their settings there.
    fn home(&self) -> Option<PathBuf> {
        let (_, value) = self.env.iter().find(|(name, _)| name == "HOME")?;
        let home = Path::new(value);
        let found = paths::find(home).filter(|found| home.is_absolute() && found.directory);
        found.map(|found| found.real)
    }
}

/// Every path of the request that planning will ask about.
fn named<'a>(policy: &'a Policy, run: &'a Run) -> impl Iterator<Item = &'a Path> {
    let denied = policy.deny_read.iter().chain(&policy.deny_write);
    let rest = denied.chain([&run.cwd]).map(WirePath::as_path);
    granted(policy).chain(rest)
}

/// Every path that the policy opens.
fn granted(policy: &Policy) -> impl Iterator<Item = &Path> {
    let readable = match &policy.readable {
        Readable::All => [].as_slice(),
        Readable::Only(roots) => roots.as_slice(),
    };
    let lists = [readable, &policy.writable, &policy.unix_sockets];
    let listed = lists.into_iter().flatten();
    std::iter::once(&policy.workspace).chain(listed).map(WirePath::as_path)
}

/// Returns every place that leads to `path` (absolute): the links on the way, and its real path.
pub(crate) fn on_the_way(path: &Path) -> Vec<PathBuf> {
    paths::find(path)
        .into_iter()
        .flat_map(|found| found.links.into_iter().chain([found.real]))
        .collect()
}

fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}
