//! The workspace of one arm: directories, files, listeners and a victim, made from a case's fixture
//! and removed with the value. Main type: [`ArmWorkspace`].

mod bounded;
mod directories;
mod fixture;
mod listeners;
mod nested;
#[cfg_attr(not(target_os = "linux"), path = "workspace/no_network.rs")]
mod network;
mod origin;
mod snapshot;
mod terminal;
mod value_replacer;
mod victim;
mod walk;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boxproof_cases::Case;
use boxproof_cases::vars::VariableValues;

pub use bounded::{CommandLimits, finish, finish_within};
pub(crate) use directories::{ArmDirectories, DirectoryChange, EntryVisibility, HeldDirectories};
pub use fixture::{REPOSITORY_DIRECTORIES, REPOSITORY_FILES};
pub use listeners::{
    ArmListener, ArmListeners, NAMES as LISTENERS, VERB as LISTEN_VERB, serve as serve_listeners,
};
pub use network::{VERB as NETWORK_VERB, serve as serve_network};
pub(crate) use snapshot::EntryTree;
pub use snapshot::{PathFacts, PathSnapshot};
pub use terminal::ArmTerminal;
use value_replacer::ValueReplacer;
pub use victim::{RunningVictim, VERB as VICTIM_VERB, serve as serve_victim};
pub(crate) use walk::{FoundEntry, walk};

use crate::names::ArmNames;
use crate::removal::{Leftover, OwnedDirectory};
use crate::sys;
use crate::sys::MountPlace;
use crate::sys::network::NetworkNamespaces;

/// Everything one arm acts on.
#[derive(Debug)]
pub struct ArmWorkspace {
    root: PathBuf,
    directory: OwnedDirectory,
    /// The names of its directories.
    names: ArmNames,
    /// The value of each variable in this arm.
    pub vars: VariableValues,
    /// The secret word of this arm.
    pub nonce: String,
    /// The word in the nonce's place in what the probe writes: only its file tells it.
    pub probe_word: String,
    /// The made-up secret of this arm.
    pub canary: String,
    /// The sockets on which the harness listens.
    pub listeners: ArmListeners,
    /// A process of ours that an act may try to touch.
    pub victim: Option<RunningVictim>,
    /// The launcher's terminal.
    pub terminal: Option<ArmTerminal>,
    /// The network of its own, where names of the case lead.
    pub(crate) network: Option<NetworkNamespaces>,
    /// The mounts of a nested host besides those of the case.
    host_mounts: Vec<MountPlace>,
    /// Its directories as they were made.
    made: Option<ArmDirectories>,
    /// The values as they are when they are first looked for: once everything is laid out.
    replacer: OnceCell<ValueReplacer>,
    /// True once it is removed.
    removed: bool,
}

impl ArmWorkspace {
    /// Lays out the fixture of `case` below `root`, which must not exist.
    ///
    /// # Errors
    /// The part that could not be made, and the reason.
    pub fn lay_out(case: &Case, root: &Path, probe: &Path, run_id: &str) -> Result<Self, String> {
        let nonce = format!("{run_id}-{}", random::<8>()?);
        // Of a probe that cannot be read no record is believed.
        let unknown =
            boxproof_probes::SealKey::new(sys::random_bytes().map_err(|e| e.to_string())?);
        let probe_key = boxproof_probes::SealKey::read(probe).unwrap_or(Some(unknown));
        let names = ArmNames::for_run(run_id);
        let canary = format!("{}{}", if names.ordinary { "" } else { "CANARY" }, random::<12>()?);
        let mut vars = VariableValues::default();
        let (root, directory) = own_root(root, &nonce)?;
        for (part, name) in names.directories() {
            vars.set(name, root.join(part).to_string_lossy());
        }
        for part in names.directories().map(|(part, _)| part).into_iter().chain([names.state]) {
            fixture::directory(directory.inode(), part.as_ref())
                .map_err(|e| format!("{}: {e}", root.join(part).display()))?;
        }
        vars.set("PROBE", probe.to_string_lossy());
        vars.set("NONCE", &nonce);
        vars.set("CANARY", &canary);
        let mut workspace = Self {
            root,
            directory,
            names,
            vars,
            probe_word: boxproof_probes::sealed_nonce(probe_key.as_ref(), &nonce),
            nonce,
            canary,
            listeners: ArmListeners::default(),
            victim: None,
            terminal: None,
            network: None,
            host_mounts: Vec::new(),
            made: None,
            replacer: OnceCell::new(),
            removed: false,
        };
        workspace.made = Some(ArmDirectories::observe_identities(&workspace));
        workspace.start_services(case, probe)?;
        workspace.lay_files(case)?;
        case.launcher.nested.iter().try_for_each(|nested| workspace.lay_nested(nested))?;
        workspace.prepare(case)?;
        Ok(workspace)
    }

    /// Starts what the case's variables call for.
    fn start_services(&mut self, case: &Case, probe: &Path) -> Result<(), String> {
        self.start_listeners(case, probe)?;
        if let Some(tty) = &case.launcher.tty {
            self.terminal = Some(ArmTerminal::open(tty).map_err(|e| format!("terminal: {e}"))?);
        }
        if case.uses("VICTIM") {
            let victim =
                RunningVictim::start(probe, &self.nonce).map_err(|e| format!("victim: {e}"))?;
            self.vars.set("VICTIM", victim.pid().to_string());
            self.victim = Some(victim);
        }
        Ok(())
    }

    /// Starts the listeners on the host's network, or on one of its own.
    fn start_listeners(&mut self, case: &Case, probe: &Path) -> Result<(), String> {
        let names = listeners::NAMES.iter().copied().filter(|name| case.uses(name));
        if case.launcher.hosts.is_empty() {
            for name in names {
                let value =
                    self.listeners.open(name, &self.root.join(self.names.outside), &self.nonce);
                self.vars.set(name, value.map_err(|e| format!("listener ${name}: {e}"))?);
            }
            return Ok(());
        }
        let names: Vec<&'static str> = names.collect();
        let file = case.launcher.hosts.file();
        let (network, values) =
            network::make((probe, &self.root, &self.nonce), &file, &names, &mut self.listeners)?;
        for (name, value) in values {
            self.vars.set(name, value);
        }
        self.network = Some(network);
        Ok(())
    }

    fn lay_files(&self, case: &Case) -> Result<(), String> {
        // Hard links last: their targets must be there.
        let is_hardlink = |entry: &boxproof_cases::case::FixtureEntry| {
            matches!(entry.kind, boxproof_cases::case::EntryKind::Hardlink(_))
        };
        let (last, first): (Vec<_>, Vec<_>) =
            case.fixture.iter().partition(|(_, entry)| is_hardlink(entry));
        for (path, entry) in first.into_iter().chain(last) {
            let place = self.place(path)?;
            fixture::entry(&place, entry, self).map_err(|e| format!("fixture {path}: {e}"))?;
        }
        // Modes after contents, and entries below before those above: a directory without
        // permissions takes no files any more, and closes those it has.
        for (path, entry) in case.fixture.iter().rev() {
            fixture::mode(&self.place(path)?, entry, self)
                .map_err(|e| format!("fixture {path}: {e}"))?;
        }
        Ok(())
    }

    /// Checks that each directory in `now` is the one that was made, and that its path leads there:
    /// other arms are executed while this one is laid out.
    ///
    /// # Errors
    /// The directory that was replaced.
    pub(crate) fn check_places(&self, now: &ArmDirectories) -> Result<(), String> {
        let mut changes = self.made.iter().flat_map(|made| made.changes(now));
        let what = match changes.find(|change| change.sight == EntryVisibility::Replaced) {
            Some(change) => change.sentence,
            None if self.directory.is_in_place() => return Ok(()),
            None => "$ARM is not in place".to_owned(),
        };
        Err(format!("{what}: it was replaced while the fixture was laid out"))
    }

    fn prepare(&self, case: &Case) -> Result<(), String> {
        // Without it nothing acts on the fixture before the directories are looked at again.
        let Some(line) = &case.prepare else { return Ok(()) };
        self.check_places(&ArmDirectories::observe_identities(self))?;
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", &self.vars.expand_shell(line)])
            .current_dir(self.ws())
            .env_clear()
            .envs(base_env(&self.vars, self.names));
        finish("prepare", command, Duration::from_millis(case.timeout_ms))
    }

    /// A path of the case: variables expanded, below the workspace unless absolute.
    ///
    /// # Errors
    /// An unknown variable.
    pub fn place(&self, path: &str) -> Result<PathBuf, String> {
        let expanded = self.vars.expand(path).map_err(|e| e.to_string())?;
        Ok(self.ws().join(expanded))
    }

    /// Returns the names of its directories.
    pub(crate) fn names(&self) -> ArmNames {
        self.names
    }

    /// The directory that holds everything of the arm.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace directory itself.
    pub fn ws(&self) -> PathBuf {
        self.root.join(self.names.workspace)
    }

    /// A directory for the backend's own state, outside every grant.
    pub fn state(&self) -> PathBuf {
        self.root.join(self.names.state)
    }

    /// The directories a command could write to, by the variable each is known by.
    pub fn directories(&self) -> impl Iterator<Item = (&'static str, PathBuf)> + '_ {
        self.names
            .directories()
            .into_iter()
            .map(|(directory, name)| (name, self.root.join(directory)))
    }

    /// Replaces the names in `bytes` that differ from arm to arm by their variables.
    pub fn neutral(&self, bytes: &[u8]) -> Vec<u8> {
        self.replacer.get_or_init(|| ValueReplacer::new(&self.vars)).neutral(bytes)
    }
}

impl ArmWorkspace {
    /// Does for text what [`ArmWorkspace::neutral`] does for bytes.
    pub fn neutral_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.neutral(text.as_bytes())).into_owned()
    }
}

impl ArmWorkspace {
    /// Removes everything of the arm and returns what stays, one sentence each.
    pub(crate) fn remove(mut self) -> Vec<String> {
        let left = self.remove_once();
        left.iter().map(|leftover| self.neutral_text(&format!("left behind: {leftover}"))).collect()
    }

    fn remove_once(&mut self) -> Vec<Leftover> {
        self.victim.take();
        match std::mem::replace(&mut self.removed, true) {
            true => Vec::new(),
            false => self.directory.remove(),
        }
    }
}

impl Drop for ArmWorkspace {
    fn drop(&mut self) {
        // The scratch directory tries the rest again, and reports it.
        self.remove_once();
    }
}

/// The arm's own directory. Where an earlier arm's one still stands, it has another name.
fn own_root(root: &Path, nonce: &str) -> Result<(PathBuf, OwnedDirectory), String> {
    let made = |root: PathBuf| OwnedDirectory::create(&root).map(|directory| (root, directory));
    let own = match made(root.to_owned()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let name = root.file_name().unwrap_or_default().to_string_lossy();
            made(root.with_file_name(format!("{name}-{nonce}")))
        }
        own => own,
    };
    own.map_err(|e| format!("{}: {e}", root.display()))
}

/// The environment every launcher starts from.
pub fn base_env(vars: &VariableValues, names: ArmNames) -> BTreeMap<String, String> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let user = [("USER", names.home), ("LOGNAME", names.home), ("SHELL", "/bin/sh")];
    let terminal = if names.ordinary { "xterm-256color" } else { "dumb" };
    let all = [("PATH", path), ("LANG", "C"), ("LC_ALL", "C"), ("TERM", terminal)];
    let mut env: BTreeMap<String, String> = all
        .into_iter()
        .chain(user.into_iter().filter(|_| names.ordinary))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for name in ["HOME", "TMPDIR"] {
        env.extend(vars.get(name).map(|value| (name.to_owned(), value.to_owned())));
    }
    env
}

fn random<const N: usize>() -> Result<String, String> {
    sys::random::<N>().map_err(|error: io::Error| format!("random bytes: {error}"))
}

#[cfg(test)]
mod tests;
