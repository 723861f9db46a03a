//! The current matches of a deny pattern ([`Expansion`]), found by a walk of the directories in
//! which the pattern could match.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{self, Finder};
use super::{Found, Missing, fold, reach};
use crate::glob::{Glob, Said, State};

/// Trees that are made afresh inside, where the host's names say nothing.
const FRESH: [&str; 3] = ["/proc", "/dev", "/sys"];

/// A pattern over this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// The pattern, with its base resolved.
    pub(crate) glob: Glob,
    /// The volume of the pattern's base ignores case.
    pub(crate) folds: bool,
    /// Locations of the links on the way to the base.
    pub(crate) links: Vec<PathBuf>,
    /// Objects that match.
    pub(crate) there: Vec<Found>,
    /// Missing targets of dangling links that match.
    pub(crate) missing: Vec<Missing>,
    /// A directory or link that could not be read.
    pub(crate) closed: Option<PathBuf>,
}

/// Expands the pattern `text`; `None` if it is no pattern, or its base cannot be resolved.
pub(super) fn expand(text: &str, finder: &mut Finder) -> Option<Expansion> {
    let glob = Glob::parse(text).ok()?;
    let found = paths::find(glob.base());
    let (real, links, folds) = match &found {
        Some(found) => (found.real.clone(), found.links.clone(), fold::folds(&found.real)),
        None => {
            let Missing { real, links, folds } = paths::missing(glob.base())?;
            (real, links, folds)
        }
    };
    let expansion = Expansion {
        glob: glob.based(real.clone()),
        folds,
        links,
        there: Vec::new(),
        missing: Vec::new(),
        closed: None,
    };
    let folder = found.is_some_and(|found| found.folder);
    Some(if folder { expansion.walked(real, finder) } else { expansion })
}

impl Expansion {
    fn walked(mut self, base: PathBuf, finder: &mut Finder) -> Self {
        let mut ahead = vec![(base, self.glob.start())];
        while let Some((folder, state)) = ahead.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(_) if is_no_concern(&folder) => continue,
                Err(_) => {
                    self.closed = Some(folder);
                    continue;
                }
            };
            for entry in entries.filter_map(Result::ok) {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                ahead.extend(self.entry(
                    &entry.path(),
                    &entry.file_name(),
                    state,
                    is_folder,
                    finder,
                ));
            }
        }
        self
    }

    /// Takes one name in; a directory to look into, with how far it is along the pattern.
    fn entry(
        &mut self,
        path: &Path,
        name: &OsStr,
        state: State,
        is_folder: bool,
        finder: &mut Finder,
    ) -> Option<(PathBuf, State)> {
        let next = self.glob.step(state, name, self.folds);
        match self.glob.said(state, next) {
            Said::Matches => self.matched(path, finder),
            Said::Below | Said::Towards if is_folder && !is_fresh(path) => {
                return Some((path.to_owned(), next));
            }
            _ => {}
        }
        None
    }

    fn matched(&mut self, path: &Path, finder: &mut Finder) {
        match finder.entry(path) {
            Some((_, found)) => self.there.push(found),
            None => match paths::missing(path) {
                Some(missing) => self.missing.push(missing),
                None => self.closed = Some(path.to_owned()),
            },
        }
    }
}

fn is_fresh(path: &Path) -> bool {
    FRESH.iter().any(|tree| path == Path::new(tree))
}

/// Returns whether the directory was removed, or the command, without capabilities, cannot enter it
/// either.
fn is_no_concern(folder: &Path) -> bool {
    !folder.exists() || !reach::is_reachable(&folder.join("any"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_pattern_finds_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("d/e.env")).unwrap();
        for name in ["a.env", "d/b.env", "d/e.env/c.env", "d/env"] {
            fs::write(root.join(name), "").unwrap();
        }
        symlink("d/env", root.join("l.env")).unwrap();
        symlink("nothing", root.join("m.env")).unwrap();
        symlink("d", root.join("way")).unwrap();
        symlink(".", root.join("here")).unwrap();
        let expand = |text: String| expand(&text, &mut Finder::default()).unwrap();
        let expansion = expand(format!("{}/**/*.env", root.join("here").display()));
        assert_eq!(expansion.glob.base(), root);
        let mut there: Vec<_> = expansion.there.iter().map(|found| found.real.clone()).collect();
        there.sort();
        assert_eq!(there, ["a.env", "d/b.env", "d/e.env", "d/env"].map(|name| root.join(name)));
        assert_eq!(expansion.missing[0].real, root.join("nothing"));
        assert_eq!(expansion.closed, None);
        let later = expand(format!("{}/way/none/*.env", root.display()));
        assert_eq!(later.glob.base(), root.join("d/none"));
        assert_eq!((later.there.len(), later.links), (0, vec![root.join("way")]));
    }
}
