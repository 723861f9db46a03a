//! The arguments of `bwrap` as the mount table that they yield: [`Mounts`]. A command is taken to
//! hold no capabilities, so that mounts stay as they are. Pure.

mod options;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use boxproof_cases::case::ObjectOperation;

use super::ModelError;
use options::{OptionMeaning, parse_options};

/// The object mounted at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// This object of the host.
    Host { source: PathBuf, writable: bool },
    /// An object made for the run.
    Fresh,
}

/// One mount; those that come later lie on top.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    place: PathBuf,
    kind: Kind,
    /// The host's object that it was put on. While it is there that object keeps its name, even
    /// where a later mount covers both.
    on: Option<PathBuf>,
}

/// A mount table, and whether the host's network is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mounts {
    table: Vec<Mount>,
    network: bool,
}

impl Mounts {
    /// Returns the table that `argv` yields, the program's name first; the command follows `--`.
    ///
    /// # Errors
    /// Arguments that `bwrap` would refuse, or an option that the model does not know.
    pub fn read(argv: &[String]) -> Result<Self, ModelError> {
        let mut mounts = Self { table: Vec::new(), network: true };
        for word in parse_options(argv)? {
            mounts.take(word)?;
        }
        Ok(mounts)
    }

    fn take(&mut self, word: OptionMeaning<'_>) -> Result<(), ModelError> {
        match word {
            OptionMeaning::Bind { source, place, writable } => {
                let source = PathBuf::from(source);
                self.mount(place, Kind::Host { source, writable });
            }
            OptionMeaning::Fresh(place) => self.mount(place, Kind::Fresh),
            OptionMeaning::RemountReadOnly(place) => {
                let place = Path::new(place);
                let top = self.table.iter_mut().rev().find(|mount| mount.place == place);
                let top = top.ok_or_else(|| {
                    ModelError::Void(format!(
                        "{} is to be remounted and is no mount",
                        place.display()
                    ))
                })?;
                if let Kind::Host { writable, .. } = &mut top.kind {
                    *writable = false;
                }
            }
            OptionMeaning::NoNetwork => self.network = false,
            OptionMeaning::HostNetwork => self.network = true,
            OptionMeaning::Nothing => {}
        }
        Ok(())
    }

    fn mount(&mut self, place: &str, kind: Kind) {
        let on = self.at(Path::new(place)).map(|(host, _)| host);
        self.table.push(Mount { place: place.into(), kind, on });
    }

    /// Returns whether `deed` can be done to the host's `object` by any name that it has inside.
    ///
    /// # Errors
    /// A deed that mounts say nothing about.
    pub fn permits(&self, deed: ObjectOperation, object: &str) -> Result<bool, ModelError> {
        match deed {
            ObjectOperation::Lookup => {
                return Err(ModelError::Unknown("services: they are macOS's".to_owned()));
            }
            ObjectOperation::Connect if !object.starts_with('/') => return Ok(self.network),
            _ => {}
        }
        let path = Path::new(object);
        Ok(self.names(path).iter().any(|name| self.can(deed, name, path)))
    }

    /// The places at which the host's `path` would be, were it not covered there.
    pub fn names(&self, path: &Path) -> Vec<PathBuf> {
        let name = |mount: &Mount| match &mount.kind {
            Kind::Host { source, .. } => {
                path.strip_prefix(source).ok().map(|rest| join(&mount.place, rest))
            }
            Kind::Fresh => None,
        };
        let mut names: Vec<PathBuf> = self.table.iter().filter_map(name).collect();
        names.sort();
        names.dedup();
        names
    }

    fn can(&self, deed: ObjectOperation, name: &Path, object: &Path) -> bool {
        let seen = self.at(name).is_some_and(|(host, _)| host == object);
        match deed {
            ObjectOperation::Read | ObjectOperation::Run | ObjectOperation::Connect => seen,
            ObjectOperation::Write => seen && self.at(name).is_some_and(|(_, writable)| writable),
            ObjectOperation::Create | ObjectOperation::Remove => self.changes_name(name, object),
            ObjectOperation::Move => {
                let [to, onto] = [name, object].map(moved);
                self.changes_name(name, object) && self.changes_name(&to, &onto)
            }
            ObjectOperation::Lookup => false,
        }
    }

    /// Returns whether the name can come or go: its directory is the host's and writable, and no
    /// mount holds it.
    fn changes_name(&self, name: &Path, object: &Path) -> bool {
        let (Some(directory), Some(host)) = (name.parent(), object.parent()) else { return false };
        !self.is_held(object) && self.at(directory) == Some((host.to_owned(), true))
    }

    /// Returns whether a mount lies on the object, by any name: it can neither go nor be replaced.
    fn is_held(&self, object: &Path) -> bool {
        self.table.iter().any(|mount| mount.on.as_deref() == Some(object))
    }

    /// Returns the host's object at `name`, and whether it is writable.
    fn at(&self, name: &Path) -> Option<(PathBuf, bool)> {
        let mount = self.top(name)?;
        match &mount.kind {
            Kind::Host { source, writable } => {
                let rest = name.strip_prefix(&mount.place).ok()?;
                Some((join(source, rest), *writable))
            }
            Kind::Fresh => None,
        }
    }

    /// The mount on top of all others at `name`.
    fn top(&self, name: &Path) -> Option<&Mount> {
        self.table.iter().rev().find(|mount| name.starts_with(&mount.place))
    }
}

/// An empty rest would leave a slash at the end.
fn join(directory: &Path, rest: &Path) -> PathBuf {
    match rest.as_os_str().is_empty() {
        true => directory.to_owned(),
        false => directory.join(rest),
    }
}

fn moved(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".moved");
    name.into()
}
