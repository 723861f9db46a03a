//! What this host looks like to one request: [`Host`], a snapshot that planning reads and nothing
//! else; the only place before a run that looks at the file system.

mod git;
mod paths;
mod reach;
mod sockets;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Mode, Policy, Protect, Readable, Run, WirePath};

use crate::plan::names;

pub(crate) use paths::Found;

/// Folders that hold other people's temporary files.
const TMP: [&str; 2] = ["/tmp", "/var/tmp"];
/// Folders that hold the sockets and state of host services.
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
pub(crate) struct Host {
    /// The launcher's environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Every path the request names → what is there; absent paths are missing here.
    pub(crate) paths: BTreeMap<PathBuf, Found>,
    /// Temp folders that exist (real paths).
    pub(crate) tmp: Vec<PathBuf>,
    /// Folders of service state that exist and are no links.
    pub(crate) services: Vec<PathBuf>,
    /// Writable knobs under `/proc` that exist.
    pub(crate) knobs: Vec<PathBuf>,
    /// Where `/etc/resolv.conf` leads.
    pub(crate) resolver: Option<PathBuf>,
    /// Protected names found directly below writable roots, with what git pointers lead to.
    pub(crate) protected: Vec<Found>,
    /// Path sockets that are bound on the host.
    pub(crate) sockets: Vec<PathBuf>,
}

impl Host {
    /// Looks at what `policy` and `run` name.
    pub(crate) fn observe(policy: &Policy, run: &Run) -> Self {
        let existing = |names: &[&str]| -> Vec<PathBuf> {
            names.iter().filter_map(|name| std::fs::canonicalize(name).ok()).collect()
        };
        let mut finder = paths::Finder::default();
        let mut host = Self {
            env: launcher_environment(),
            paths: named(policy, run).filter_map(|path| finder.entry(path)).collect(),
            tmp: existing(&TMP),
            services: SERVICES.iter().map(PathBuf::from).filter(|path| is_folder(path)).collect(),
            knobs: KNOBS.iter().map(PathBuf::from).filter(|path| path.exists()).collect(),
            resolver: std::fs::canonicalize("/etc/resolv.conf").ok(),
            protected: Vec::new(),
            sockets: sockets::bound(),
        };
        host.protected = host.protected_names(policy);
        host
    }

    /// What is at `path`, if the request names it and it exists.
    pub(crate) fn at(&self, path: &Path) -> Option<&Found> {
        self.paths.get(path)
    }

    fn protected_names(&self, policy: &Policy) -> Vec<Found> {
        if policy.protect == Protect::None || policy.mode != Mode::WorkspaceWrite {
            return Vec::new();
        }
        let roots = std::iter::once(&policy.workspace).chain(&policy.writable);
        let roots = roots.filter_map(|root| self.at(root.as_path()));
        let names = names::PROTECTED.iter().filter(|name| !name.granted_by(&policy.grants));
        let names: Vec<_> = names.collect();
        roots.flat_map(|root| names.iter().flat_map(|name| git::below(&root.real, name))).collect()
    }
}

/// Every path of the request that planning will ask about.
fn named<'a>(policy: &'a Policy, run: &'a Run) -> impl Iterator<Item = &'a Path> {
    let readable = match &policy.readable {
        Readable::All => [].as_slice(),
        Readable::Only(roots) => roots.as_slice(),
    };
    let lists =
        [readable, &policy.writable, &policy.deny_read, &policy.deny_write, &policy.unix_sockets];
    [&policy.workspace, &run.cwd]
        .into_iter()
        .chain(lists.into_iter().flatten())
        .map(WirePath::as_path)
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// The variables of this process.
pub(crate) fn launcher_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}
