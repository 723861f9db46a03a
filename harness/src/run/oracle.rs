//! Reading the oracles: what the host looked like before, and what it looks like after.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use boxproof_cases::Case;
use boxproof_cases::case::{Content, Oracle};

use super::stream::Streams;
use crate::execution::Reading;
use crate::removal::mount_point;
use crate::sweep::{self, Shared, Survivors};
use crate::workspace::{Snapshot, Workspace, find, tree};

mod terminal;

/// The host before the act.
pub(super) struct Before {
    snapshots: BTreeMap<String, Snapshot>,
    trees: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Files that held the secret from the start; moving one discloses nothing.
    secret: BTreeSet<(u64, u64)>,
    mounts: String,
    shared: Shared,
}

/// What is different afterwards.
pub(super) struct After {
    pub(super) readings: Vec<Reading>,
    pub(super) tree: BTreeMap<String, String>,
    pub(super) appeared: Vec<String>,
    pub(super) leaks: Vec<String>,
}

/// The folders two arms are compared by.
const COMPARED: [&str; 2] = ["WS", "OUT"];

impl Before {
    /// Looks at everything the oracles of `case` ask about.
    ///
    /// # Errors
    /// An unknown variable, or an object that is to stay unchanged and is not there.
    pub(super) fn look(case: &Case, workspace: &Workspace, mounts: &str) -> Result<Self, String> {
        let mut snapshots = BTreeMap::new();
        for oracle in &case.expect.oracle {
            if let Oracle::Unchanged(path) | Oracle::Absent(path) = oracle {
                let snapshot = Snapshot::take(&workspace.place(path)?);
                let wanted = matches!(oracle, Oracle::Unchanged(_));
                if wanted == snapshot.is_absent() {
                    let state = if wanted { "nothing is there" } else { "it is there" };
                    return Err(format!("oracle `{oracle}` before the act: {state}"));
                }
                snapshots.insert(path.clone(), snapshot);
            }
        }
        let trees = workspace.folders().map(|(name, path)| (name, tree(&path))).collect();
        let asked = |oracle: &Oracle| matches!(oracle, Oracle::Undisclosed(_));
        let asked = case.expect.oracle.iter().any(asked);
        let secret = if asked { holders(workspace) } else { BTreeSet::new() };
        let shared = Shared::look();
        Ok(Self { snapshots, trees, secret, mounts: mounts.to_owned(), shared })
    }

    /// Looks again.
    pub(super) fn compare(
        &self,
        case: &Case,
        workspace: &mut Workspace,
        runs: &[Streams],
        survivors: &Survivors,
    ) -> After {
        // What was sent last may have come after the last child ended.
        workspace.listeners.collect();
        let readings =
            case.expect.oracle.iter().map(|o| self.read(o, workspace, runs, survivors)).collect();
        let now: BTreeMap<&str, _> =
            workspace.folders().map(|(name, path)| (name, tree(&path))).collect();
        let mut leaks: Vec<String> = Vec::new();
        // Survivors are the oracle's business where the case asks about them.
        if !case.asks_for_survivors() {
            let left = survivors.processes.iter();
            leaks.extend(left.map(|survivor| format!("process {survivor} outlived the run")));
        }
        leaks.extend(survivors.sockets.iter().map(|socket| workspace.neutral_text(socket)));
        let residue = self.shared.remove_residue(&workspace.nonce);
        leaks.extend(residue.iter().map(|leak| workspace.neutral_text(leak)));
        leaks.extend(self.changed_mount(&sweep::mounts()));
        let (tree, appeared) = self.changes(&now, workspace);
        After { readings, tree, appeared, leaks }
    }

    /// The compared folders as they are now, and every path that was not there before.
    fn changes(
        &self,
        now: &BTreeMap<&str, BTreeMap<String, String>>,
        workspace: &Workspace,
    ) -> (BTreeMap<String, String>, Vec<String>) {
        let neutral = |text: &str| workspace.neutral_text(text);
        let (mut tree, mut appeared) = (BTreeMap::new(), Vec::new());
        for (name, entries) in now {
            let before = self.trees.get(name);
            for (path, what) in entries {
                let shown = format!("${name}/{}", neutral(path));
                if !before.is_some_and(|before| before.contains_key(path)) {
                    appeared.push(shown.clone());
                }
                if COMPARED.contains(name) {
                    tree.insert(shown, neutral(what));
                }
            }
        }
        (tree, appeared)
    }

    /// A mount that is new, or one that was detached.
    fn changed_mount(&self, now: &str) -> Option<String> {
        if now == self.mounts {
            return None;
        }
        if let Some(new) = only_in(now, &self.mounts).next() {
            return Some(format!("a mount outlived the run: {new}"));
        }
        // Root's table is its own. From another one the host may have taken something.
        let gone = only_in(&self.mounts, now).find(|_| nix::unistd::geteuid().is_root())?;
        Some(format!("a mount was detached in the run: {gone}"))
    }

    fn read(
        &self,
        oracle: &Oracle,
        workspace: &mut Workspace,
        runs: &[Streams],
        survivors: &Survivors,
    ) -> Reading {
        let (holds, saw) = match oracle {
            Oracle::Unchanged(path) | Oracle::Absent(path) => self.unchanged(path, workspace),
            Oracle::Exists(path) => exists(path, workspace),
            Oracle::Content(content) => content_of(content, workspace),
            Oracle::Undisclosed(_) => self.undisclosed(workspace, runs),
            Oracle::Unreached(listener) => negated(reached(listener, workspace)),
            Oracle::Reached(listener) => reached(listener, workspace),
            Oracle::Untouched(_) => untouched(workspace),
            Oracle::NoSurvivors(_) => match (survivors.processes.first(), &survivors.beating) {
                (Some(survivor), _) => (false, format!("{survivor} still ran")),
                (None, Some(file)) => (false, format!("somebody out of sight still wrote {file}")),
                (None, None) => (true, "nothing was left running".to_owned()),
            },
            Oracle::Untyped(_) => terminal::untyped(workspace),
            Oracle::Displayed(text) => terminal::displayed(text, workspace),
            Oracle::Undisplayed(text) => negated(terminal::displayed(text, workspace)),
            Oracle::TerminalRestored(_) => terminal::restored(workspace),
            Oracle::MountsUnchanged(_) => match self.changed_mount(&sweep::mounts()) {
                Some(mount) => (false, mount),
                None => (true, "the same mounts".to_owned()),
            },
        };
        Reading { oracle: oracle.to_string(), positive: oracle.is_positive(), holds, saw }
    }

    fn unchanged(&self, path: &str, workspace: &Workspace) -> (bool, String) {
        let (Some(before), Ok(place)) = (self.snapshots.get(path), workspace.place(path)) else {
            return (false, "not looked at before".to_owned());
        };
        match before.difference(&Snapshot::take(&place)) {
            Some(difference) => (false, difference),
            None => (true, "as before".to_owned()),
        }
    }

    /// The canary is in no stream, no listener, and no file that is new or changed.
    fn undisclosed(&self, workspace: &Workspace, runs: &[Streams]) -> (bool, String) {
        let canary = workspace.canary.as_bytes();
        let streams = runs.iter().flat_map(|run| [&run.out, &run.err]);
        if streams.into_iter().any(|bytes| find(bytes, canary).is_some()) {
            return (false, "the secret is in the output".to_owned());
        }
        if let Some(listener) = workspace.listeners.iter().find(|l| find(&l.data, canary).is_some())
        {
            return (false, format!("the secret arrived at ${}", listener.name));
        }
        match self.disclosing_file(workspace, canary) {
            Some(file) => (false, format!("the secret is in {file}")),
            None => (true, "the secret is nowhere".to_owned()),
        }
    }

    fn disclosing_file(&self, workspace: &Workspace, canary: &[u8]) -> Option<String> {
        workspace.folders().find_map(|(name, folder)| {
            let mut files = plain_files(&folder).filter(|(_, id)| !self.secret.contains(id));
            let (file, _) = files.find(|(file, _)| holds(file, canary))?;
            Some(format!("${name}/{}", file.strip_prefix(&folder).unwrap_or(&file).display()))
        })
    }
}

/// The lines of one mount table that another does not have, and whose mount point is there: a
/// mount whose point the host removes goes with it.
fn only_in<'a>(one: &'a str, other: &str) -> impl Iterator<Item = &'a str> {
    let known: HashSet<&str> = other.lines().collect();
    let lines: Vec<_> = one.lines().filter(|line| !known.contains(line)).collect();
    lines
        .into_iter()
        .filter(|line| mount_point(line).is_some_and(|point| point.symlink_metadata().is_ok()))
}

/// Device and inode of every file that holds the secret.
fn holders(workspace: &Workspace) -> BTreeSet<(u64, u64)> {
    let canary = workspace.canary.as_bytes();
    let files =
        workspace.folders().flat_map(|(_, folder)| plain_files(&folder).collect::<Vec<_>>());
    files.filter(|(file, _)| holds(file, canary)).map(|(_, id)| id).collect()
}

fn holds(file: &Path, canary: &[u8]) -> bool {
    std::fs::read(file).is_ok_and(|bytes| find(&bytes, canary).is_some())
}

/// Every plain file below `folder`, with device and inode.
fn plain_files(folder: &Path) -> impl Iterator<Item = (PathBuf, (u64, u64))> {
    walkdir::WalkDir::new(folder).into_iter().flatten().filter_map(|entry| {
        let meta = entry.path().symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((entry.into_path(), (meta.dev(), meta.ino())))
    })
}

fn exists(path: &str, workspace: &Workspace) -> (bool, String) {
    let there = workspace.place(path).is_ok_and(|place| !Snapshot::take(&place).is_absent());
    (there, if there { "it is there" } else { "nothing is there" }.to_owned())
}

fn content_of(content: &Content, workspace: &Workspace) -> (bool, String) {
    let wanted = workspace.vars.expand(&content.equals);
    let found = workspace.place(&content.path).and_then(|place| {
        std::fs::read(&place).map_err(|error| format!("cannot be read: {error}"))
    });
    match (wanted, found) {
        (Ok(wanted), Ok(found)) if found == wanted.as_bytes() => (true, "as wanted".to_owned()),
        (Ok(_), Ok(found)) => {
            let shown = String::from_utf8_lossy(&found[..found.len().min(60)]).into_owned();
            (false, format!("it holds {shown:?}"))
        }
        (Err(error), _) => (false, error.to_string()),
        (_, Err(error)) => (false, error),
    }
}

fn reached(listener: &str, workspace: &Workspace) -> (bool, String) {
    match workspace.listeners.get(listener) {
        None => (false, "there is no such listener".to_owned()),
        Some(listener) if listener.arrived == 0 => (false, "nothing arrived".to_owned()),
        Some(listener) => (true, format!("{} arrived", listener.arrived)),
    }
}

fn negated((holds, saw): (bool, String)) -> (bool, String) {
    (!holds, saw)
}

fn untouched(workspace: &mut Workspace) -> (bool, String) {
    let Some(victim) = workspace.victim.as_mut() else {
        return (false, "there is no victim".to_owned());
    };
    match victim.felt() {
        (felt, true) if felt.is_empty() => (true, "it felt nothing".to_owned()),
        (felt, true) => (false, format!("it felt {}", felt.join(", "))),
        (_, false) => (false, "it is dead".to_owned()),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
