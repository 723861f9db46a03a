//! The current matches of a deny pattern ([`PatternExpansion`]), found by a walk of the directories in
//! which the pattern could match.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{self, PathFinder};
use super::{ExistingPath, MissingPath, fold, reachability};
use crate::policy::path_glob::{GlobMatch, GlobState, PathGlob};

/// Trees that are made afresh inside, where the host's names say nothing.
const FRESH: [&str; 3] = ["/proc", "/dev", "/sys"];

/// A pattern over this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternExpansion {
    /// The pattern, with its base resolved.
    pub(crate) glob: PathGlob,
    /// The volume of the pattern's base ignores case.
    pub(crate) folds: bool,
    /// Locations of the links on the way to the base.
    pub(crate) links: Vec<PathBuf>,
    /// Objects that match.
    pub(crate) there: Vec<ExistingPath>,
    /// Missing targets of dangling links that match.
    pub(crate) missing: Vec<MissingPath>,
    /// A directory or link that could not be read.
    pub(crate) closed: Option<PathBuf>,
}

/// Expands the pattern `text`; `None` if it is no pattern, or its base cannot be resolved.
pub(super) fn expand(text: &str, finder: &mut PathFinder) -> Option<PatternExpansion> {
    let glob = PathGlob::parse(text).ok()?;
    let found = paths::find(glob.base());
    let (real, links, folds) = match &found {
        Some(found) => (found.real.clone(), found.links.clone(), fold::folds(&found.real)),
        None => {
            let MissingPath { real, links, folds } = paths::missing(glob.base())?;
            (real, links, folds)
        }
    };
    let expansion = PatternExpansion {
        glob: glob.based(real.clone()),
        folds,
        links,
        there: Vec::new(),
        missing: Vec::new(),
        closed: None,
    };
    let directory = found.is_some_and(|found| found.directory);
    Some(if directory { expansion.walked(real, finder) } else { expansion })
}

impl PatternExpansion {
    fn walked(mut self, base: PathBuf, finder: &mut PathFinder) -> Self {
        let mut ahead = vec![(base, self.glob.start())];
        while let Some((directory, state)) = ahead.pop() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(_) if !reachability::may_be_entered(&directory) => continue,
                Err(_) => {
                    self.closed = Some(directory);
                    continue;
                }
            };
            for entry in entries.filter_map(Result::ok) {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                ahead.extend(self.entry(
                    &entry.path(),
                    &entry.file_name(),
                    state,
                    is_directory,
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
        state: GlobState,
        is_directory: bool,
        finder: &mut PathFinder,
    ) -> Option<(PathBuf, GlobState)> {
        let next = self.glob.step(state, name, self.folds);
        match self.glob.said(state, next) {
            GlobMatch::Matches => self.matched(path, finder),
            GlobMatch::Below | GlobMatch::Towards if is_directory && !is_fresh(path) => {
                return Some((path.to_owned(), next));
            }
            _ => {}
        }
        None
    }

    fn matched(&mut self, path: &Path, finder: &mut PathFinder) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_pattern_finds_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("d/e.env")).unwrap();
        for name in ["a.env", "d/b.env", "d/e.env/c.env", "d/env"] {
            fs::write(root.join(name), "").unwrap();
        }
        symlink("d/env", root.join("l.env")).unwrap();
        symlink("nothing", root.join("m.env")).unwrap();
        symlink("d", root.join("way")).unwrap();
        symlink(".", root.join("here")).unwrap();
        let expand = |text: String| expand(&text, &mut PathFinder::default()).unwrap();
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

    #[rstest]
    #[case::listed_only(0o400)]
    #[case::closed(0o000)]
    fn a_directory_that_could_be_opened_again_is_told(#[case] mode: u32) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c.env"), "").unwrap();
        let set = |mode| {
            fs::set_permissions(root.join("a"), fs::Permissions::from_mode(mode)).unwrap();
        };
        let text = format!("{}/**/*.env", root.display());
        let closed = || expand(&text, &mut PathFinder::default()).unwrap().closed;
        set(mode);
        let told = crate::sys::without_capabilities(closed).unwrap();
        set(0o700);
        assert!(told.is_some_and(|told| told.starts_with(root.join("a"))));
        assert_eq!(closed(), None);
    }
}
