//! Reading the oracles: the state of the host before the act, and after it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use boxproof_cases::Case;
use boxproof_cases::case::{Content, Oracle};
use memchr::memmem::find;

use super::stream::RawStreams;
use crate::execution::OracleReading;
use crate::plain_file;
use crate::sweep::{RunSurvivors, SharedDirectories};
use crate::workspace::{
    ArmDirectories, ArmWorkspace, DirectoryChange, EntryTree, EntryVisibility, PathSnapshot,
};
use mounts::MountsBefore;
use nearest_directory::NearestDirectory;
use secret::SecretFiles;

mod mounts;
mod nearest_directory;
mod secret;
mod terminal;

/// The host before the act.
pub(super) struct HostBefore {
    directories: ArmDirectories,
    snapshots: BTreeMap<String, PathSnapshot>,
    /// The nearest directory above each path that is to stay absent.
    above: BTreeMap<String, NearestDirectory>,
    trees: BTreeMap<&'static str, EntryTree>,
    secrets: SecretFiles,
    mounts: MountsBefore,
    shared: SharedDirectories,
}

/// The result of comparing the arm after the act with the arm before it.
pub(super) struct ArmComparison {
    pub(super) readings: Vec<OracleReading>,
    pub(super) tree: BTreeMap<String, String>,
    pub(super) laid: BTreeMap<String, String>,
    pub(super) appeared: Vec<String>,
    pub(super) leaks: Vec<String>,
    pub(super) spoilt: Vec<String>,
    pub(super) unseen: Vec<String>,
}

/// The result of an oracle, true if it holds, with the observation; or the reason why nothing could
/// be observed.
type OracleResult = Result<(bool, String), String>;

/// The state of the arm's own directories after the act.
struct DirectoryState {
    changes: Vec<DirectoryChange>,
    /// The entries that appeared beside them.
    strays: Vec<(String, PathBuf)>,
}

impl DirectoryState {
    /// Describes the change to a directory above `place`, if it is not the one that was laid out.
    fn replaced(&self, place: &Path) -> Option<&str> {
        let mut changes =
            self.changes.iter().filter(|change| change.sight == EntryVisibility::Replaced);
        let change = changes.find(|change| place.starts_with(&change.path))?;
        Some(&change.sentence)
    }

    /// The sentences of the changes of which `of` is true.
    fn sentences(&self, of: impl Fn(EntryVisibility) -> bool) -> impl Iterator<Item = String> {
        self.changes.iter().filter(move |change| of(change.sight)).map(|c| c.sentence.clone())
    }
}

/// The directories by which two arms are compared.
const COMPARED: [&str; 2] = ["WS", "OUT"];

impl HostBefore {
    /// Looks at everything the oracles of `case` ask about; `mounts` is the mount table, and whether
    /// it is the worker's own.
    ///
    /// # Errors
    /// An unknown variable, an object that is to stay unchanged and is not there, or what cannot be
    /// looked at.
    pub(super) fn observe_host(
        case: &Case,
        workspace: &ArmWorkspace,
        (mounts, own): (&str, bool),
    ) -> Result<Self, String> {
        let (mut snapshots, mut above) = (BTreeMap::new(), BTreeMap::new());
        for oracle in &case.expect.oracle {
            if let Oracle::Unchanged(path) | Oracle::Absent(path) = oracle {
                let place = workspace.place(path)?;
                let snapshot = before(oracle, &place)?;
                snapshots.insert(path.clone(), snapshot);
                above.insert(path.clone(), NearestDirectory::nearest_above(&place));
            }
        }
        let trees = workspace.directories();
        let trees =
            trees.map(|(name, path)| (name, EntryTree::take(&path, COMPARED.contains(&name))));
        let asked = |oracle: &Oracle| matches!(oracle, Oracle::Undisclosed(_));
        let secrets = match case.expect.oracle.iter().any(asked) {
            true => SecretFiles::observe_files(workspace)?,
            false => SecretFiles::default(),
        };
        let directories = ArmDirectories::observe_workspace(workspace);
        workspace.check_places(&directories)?;
        Ok(Self {
            directories,
            snapshots,
            above,
            trees: trees.collect(),
            secrets,
            mounts: MountsBefore::new(mounts, own, workspace),
            shared: SharedDirectories::before_run(
                case.prepare.as_ref().map(|_| workspace.nonce.as_str()),
            ),
        })
    }

    /// Looks again.
    pub(super) fn compare(
        &self,
        case: &Case,
        workspace: &mut ArmWorkspace,
        runs: &[RawStreams],
        survivors: &RunSurvivors,
    ) -> ArmComparison {
        // The last message may have arrived after the last child ended.
        workspace.listeners.collect();
        let ground = self.ground(workspace);
        let read = |o| self.read(o, workspace, runs, survivors, &ground);
        let readings = case.expect.oracle.iter().map(read).collect();
        let mut leaks: Vec<String> = Vec::new();
        // Survivors are the oracle's business where the case asks about them.
        if !case.asks_for_survivors() {
            let left = survivors.processes.iter();
            leaks.extend(left.map(|survivor| format!("process {survivor} outlived the run")));
        }
        leaks.extend(survivors.sockets.iter().map(|socket| workspace.neutral_text(socket)));
        let residue = self.shared.remove_residue(&workspace.nonce);
        leaks.extend(residue.iter().map(|leak| workspace.neutral_text(leak)));
        leaks.extend(self.mounts.change());
        leaks.extend(ground.sentences(|sight| sight == EntryVisibility::Clear));
        let spoilt = ground.sentences(|sight| sight != EntryVisibility::Clear).collect();
        let mut after = self.changes(workspace, &ground);
        (after.readings, after.leaks, after.spoilt) = (readings, leaks, spoilt);
        after
    }

    fn ground(&self, workspace: &ArmWorkspace) -> DirectoryState {
        let now = ArmDirectories::observe_workspace(workspace);
        let strays = self.directories.appeared(&now);
        DirectoryState { changes: self.directories.changes(&now), strays }
    }

    /// Returns the compared directories as they are now, and every path that was not there before.
    fn changes(&self, workspace: &ArmWorkspace, ground: &DirectoryState) -> ArmComparison {
        let neutral = |text: &str| workspace.neutral_text(text);
        let (mut tree, mut unseen) = (BTreeMap::new(), Vec::new());
        let laid = self.trees.iter().filter(|(name, _)| COMPARED.contains(name));
        let laid = laid.flat_map(|(name, tree)| {
            let entry = |(path, what): (&String, &String)| {
                (format!("${name}/{}", neutral(path)), neutral(what))
            };
            tree.entries.iter().map(entry).collect::<Vec<_>>()
        });
        let mut appeared: Vec<String> = Vec::new();
        for (name, path) in workspace.directories() {
            if ground.replaced(&path).is_some() {
                continue;
            }
            let (before, now) =
                (self.trees.get(name), EntryTree::take(&path, COMPARED.contains(&name)));
            unseen.extend(now.cut.map(|why| format!("${name}: {why}")));
            for (path, what) in &now.entries {
                let shown = format!("${name}/{}", neutral(path));
                if !before.is_some_and(|before| before.entries.contains_key(path)) {
                    appeared.push(shown.clone());
                }
                if COMPARED.contains(&name) {
                    tree.insert(shown, neutral(what));
                }
            }
        }
        appeared.extend(ground.strays.iter().map(|(name, _)| neutral(name)));
        appeared.sort();
        ArmComparison {
            readings: Vec::new(),
            tree,
            laid: laid.collect(),
            appeared,
            leaks: Vec::new(),
            spoilt: Vec::new(),
            unseen,
        }
    }

    fn read(
        &self,
        oracle: &Oracle,
        workspace: &mut ArmWorkspace,
        runs: &[RawStreams],
        survivors: &RunSurvivors,
        ground: &DirectoryState,
    ) -> OracleReading {
        let look = match oracle {
            Oracle::Unchanged(path) => self.unchanged(path, workspace, ground),
            Oracle::Absent(path) => self.absent(path, workspace, ground),
            Oracle::Exists(path) => exists(path, workspace, ground),
            Oracle::Content(content) => content_of(content, workspace, ground),
            Oracle::Undisclosed(_) => self.undisclosed(workspace, runs, ground),
            Oracle::Unreached(listener) => Ok(negated(reached(listener, workspace))),
            Oracle::Reached(listener) => Ok(reached(listener, workspace)),
            Oracle::Untouched(_) => Ok(untouched(workspace)),
            Oracle::NoSurvivors(_) => Ok(no_survivors(survivors)),
            Oracle::Untyped(_) => Ok(terminal::untyped(workspace)),
            Oracle::Displayed(text) => Ok(terminal::displayed(text, workspace)),
            Oracle::Undisplayed(text) => Ok(negated(terminal::displayed(text, workspace))),
            Oracle::TerminalRestored(_) => Ok(terminal::restored(workspace)),
            Oracle::MountsUnchanged(_) => Ok(match self.mounts.change() {
                Some(mount) => (false, mount),
                None => (true, "the same mounts".to_owned()),
            }),
        };
        let unread = look.is_err();
        let (holds, saw) =
            look.unwrap_or_else(|why| (false, format!("it could not be looked at: {why}")));
        OracleReading {
            oracle: oracle.to_string(),
            positive: oracle.is_positive(),
            holds,
            saw,
            unread,
        }
    }

    fn unchanged(
        &self,
        path: &str,
        workspace: &ArmWorkspace,
        ground: &DirectoryState,
    ) -> OracleResult {
        let place = workspace.place(path)?;
        if let Some(sentence) = ground.replaced(&place) {
            return Ok((false, sentence.to_owned()));
        }
        let before = self.snapshots.get(path).ok_or("it was not looked at before")?;
        Ok(match before.difference(&PathSnapshot::take(&place)?)? {
            Some(difference) => (false, difference),
            None => (true, "as before".to_owned()),
        })
    }

    fn absent(
        &self,
        path: &str,
        workspace: &ArmWorkspace,
        ground: &DirectoryState,
    ) -> OracleResult {
        let (there, saw) = exists(path, workspace, ground)?;
        if there {
            return Ok((false, "appeared".to_owned()));
        }
        let place = workspace.place(path)?;
        let above = self.above.get(path).ok_or("it was not looked at before")?;
        let strays: Vec<PathBuf> = ground.strays.iter().map(|(_, path)| path.clone()).collect();
        match above.namesake(&place, workspace, &strays)? {
            Some(other) => {
                let below = other.strip_prefix(workspace.root()).unwrap_or(&other);
                Err(format!("it may have been moved to {} of the arm", below.display()))
            }
            None => Ok((true, saw)),
        }
    }

    /// The canary is in no stream, no listener, and no file that is new or changed.
    fn undisclosed(
        &self,
        workspace: &ArmWorkspace,
        runs: &[RawStreams],
        ground: &DirectoryState,
    ) -> OracleResult {
        let canary = workspace.canary.as_bytes();
        let streams = runs.iter().flat_map(|run| [&run.out, &run.err]);
        if streams.into_iter().any(|bytes| find(bytes, canary).is_some()) {
            return Ok((false, "the secret is in the output".to_owned()));
        }
        if let Some(listener) = workspace.listeners.iter().find(|l| find(&l.data, canary).is_some())
        {
            return Ok((false, format!("the secret arrived at ${}", listener.name)));
        }
        if let Some(sentence) = ground.sentences(|sight| sight != EntryVisibility::Clear).next() {
            return Err(sentence);
        }
        Ok(match self.secrets.disclosed(workspace)? {
            Some(file) => (false, format!("the secret is in {file}")),
            None => (true, "the secret is nowhere".to_owned()),
        })
    }
}

/// Takes a snapshot of `place` before the act, which must suit `oracle`.
fn before(oracle: &Oracle, place: &Path) -> Result<PathSnapshot, String> {
    let snapshot = PathSnapshot::take(place)
        .and_then(|snapshot| snapshot.difference(&snapshot).map(|_| snapshot.clone()));
    let snapshot = snapshot.map_err(|why| format!("oracle `{oracle}` before the act: {why}"))?;
    let wanted = matches!(oracle, Oracle::Unchanged(_));
    if wanted == snapshot.is_absent() {
        let state = if wanted { "nothing is there" } else { "it is there" };
        return Err(format!("oracle `{oracle}` before the act: {state}"));
    }
    Ok(snapshot)
}

fn exists(path: &str, workspace: &ArmWorkspace, ground: &DirectoryState) -> OracleResult {
    let place = workspace.place(path)?;
    if let Some(sentence) = ground.replaced(&place) {
        return Err(sentence.to_owned());
    }
    match place.symlink_metadata() {
        Ok(_) => Ok((true, "it is there".to_owned())),
        Err(error) if is_absence(&error) => Ok((false, "nothing is there".to_owned())),
        Err(error) => Err(error.to_string()),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The most bytes of a content that are read.
const CONTENT_LIMIT: u64 = 1 << 20;

fn content_of(
    content: &Content,
    workspace: &ArmWorkspace,
    ground: &DirectoryState,
) -> OracleResult {
    let wanted = workspace.vars.expand(&content.equals).map_err(|error| error.to_string())?;
    let (there, saw) = exists(&content.path, workspace, ground)?;
    if !there {
        return Ok((false, saw));
    }
    let limit = CONTENT_LIMIT.max(wanted.len() as u64);
    Ok(match plain_file::read(&workspace.place(&content.path)?, limit) {
        Ok(found) if found == wanted.as_bytes() => (true, "as wanted".to_owned()),
        Ok(found) => {
            let shown = String::from_utf8_lossy(&found[..found.len().min(60)]).into_owned();
            (false, format!("it holds {shown:?}"))
        }
        // It is there, and so this says something about it.
        Err(error) => (false, format!("it cannot be read: {error}")),
    })
}

fn no_survivors(survivors: &RunSurvivors) -> (bool, String) {
    match (survivors.processes.first(), &survivors.beating) {
        (Some(survivor), _) => (false, format!("{survivor} still ran")),
        (None, Some(file)) => (false, format!("a process out of sight still wrote {file}")),
        (None, None) => (true, "nothing was left running".to_owned()),
    }
}

fn reached(listener: &str, workspace: &ArmWorkspace) -> (bool, String) {
    match workspace.listeners.get(listener) {
        None => (false, "there is no such listener".to_owned()),
        Some(listener) if listener.arrived == 0 => (false, "nothing arrived".to_owned()),
        Some(listener) => (true, format!("{} arrived", listener.arrived)),
    }
}

fn negated((holds, saw): (bool, String)) -> (bool, String) {
    (!holds, saw)
}

fn untouched(workspace: &mut ArmWorkspace) -> (bool, String) {
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
