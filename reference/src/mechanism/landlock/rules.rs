//! The plan's steps as grants: [`LandlockGrants`], pure. Landlock only grants, so a step that restricts is
//! either met by leaving out a grant, or refused.

use std::path::{Path, PathBuf};

use crate::error::Refusal;
use crate::plan::{AbsenceReason, View, ViewStep};

/// The shared memory directory, where private temporary files of other kinds would lie; never
/// granted.
const SHARED_MEMORY: &str = "/dev/shm";

/// The grants of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LandlockGrants {
    /// Everything can be read except the paths in `hidden`.
    pub(super) all: bool,
    /// Directories that a view would replace: their entries are not granted.
    pub(super) hidden: Vec<PathBuf>,
    /// Paths that can be read and executed.
    pub(super) read: Vec<PathBuf>,
    /// Paths that can be changed, too.
    pub(super) write: Vec<PathBuf>,
    /// Harmless devices can be used.
    pub(super) devices: bool,
    /// The command has a temporary directory of its own.
    pub(super) temp: bool,
    /// The command has no network.
    pub(super) offline: bool,
}

impl LandlockGrants {
    /// Collects the grants of `view`; refuses a step that takes part of a grant away.
    pub(super) fn from_view(view: &View) -> Result<Self, Refusal> {
        if view.egress.is_some() {
            return Err(Refusal::unsupported(
                "policy.network: Landlock opens no single way out of a closed network; use none or host, or the mechanism namespaces",
            ));
        }
        let offline = !view.host_network && !fault!("landlock.network");
        let mut rules = Self { offline, ..Self::default() };
        // A step lies on top of the steps that contain it, so those come first.
        view.steps.iter().try_for_each(|step| rules.add(step))?;
        rules.holds_later(view)?;
        Ok(rules)
    }

    fn add(&mut self, step: &ViewStep) -> Result<(), Refusal> {
        let root = Path::new("/");
        match step {
            ViewStep::Bind(path) => self.write.push(path.clone()),
            ViewStep::BindReadOnly(path) if path == root => self.all = true,
            ViewStep::BindReadOnly(path)
                if self.is_writable(path) && !fault!("landlock.write-denies") =>
            {
                return Err(refused(&format!("keeps {} from being written", path.display())));
            }
            // Knobs of /proc, which nothing makes writable.
            ViewStep::BindReadOnly(path) if path.starts_with("/proc") => {}
            ViewStep::BindReadOnly(path) => self.read.push(path.clone()),
            ViewStep::MaskFile(path) | ViewStep::MaskDirectory(path)
                if self.is_readable(path) && !fault!("landlock.read-denies") =>
            {
                return Err(refused(&format!("denies {}", path.display())));
            }
            ViewStep::Tmpfs(path, _) if path == root => {}
            ViewStep::Tmpfs(path, _) => {
                // A shared temporary directory gives way to a private one.
                self.temp |=
                    !fault!("landlock.temp") && path != Path::new(SHARED_MEMORY) && step.is_temp();
                self.hidden.extend((!fault!("landlock.replaced-shown")).then(|| path.clone()));
            }
            ViewStep::Dev => {
                self.devices = !fault!("landlock.devices");
                self.hidden.extend((!fault!("landlock.host-devices")).then(|| "/dev".into()));
            }
            ViewStep::Proc | ViewStep::HostProc if !self.all => self.read.push("/proc".into()),
            // Sockets bound to paths are out of its reach (see the limits); the rest adds nothing.
            ViewStep::MaskFile(_) | ViewStep::MaskDirectory(_) | ViewStep::MaskSocket(_) => {}
            ViewStep::Directory(_)
            | ViewStep::Link(..)
            | ViewStep::Seal(_)
            | ViewStep::Proc
            | ViewStep::HostProc => {}
        }
        Ok(())
    }

    /// Refuses names that do not exist yet: in a writable directory they could be created.
    fn holds_later(&self, view: &View) -> Result<(), Refusal> {
        if fault!("landlock.later-names") {
            return Ok(());
        }
        if let Some(name) = view.mediate.names.first() {
            let path = name.path.display();
            return Err(match name.by {
                AbsenceReason::Deny | AbsenceReason::Hide => {
                    refused(&format!("denies {path}, which does not exist yet"))
                }
                AbsenceReason::Link | AbsenceReason::Protect => {
                    refused(&format!("protects {path}"))
                }
            });
        }
        if view.mediate.profile.is_some() {
            return Err(refused("grants part of a directory by a profile"));
        }
        match view.mediate.globs.first() {
            None => Ok(()),
            Some(later) => Err(refused(&format!("denies names that match {}", later.glob))),
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.write.iter().any(|root| path.starts_with(root))
    }

    fn is_readable(&self, path: &Path) -> bool {
        let hidden = self.hidden.iter().any(|directory| path.starts_with(directory));
        let listed = self.read.iter().any(|root| path.starts_with(root));
        self.is_writable(path) || listed || self.all && !hidden
    }
}

fn refused(what: &str) -> Refusal {
    Refusal::unsupported(format!(
        "the policy {what}, in a directory that it grants: Landlock only grants, it cannot take a part back; grant less, or use the mechanism namespaces"
    ))
}
