//! The parts of a repository that the grant for its history opens, and the parts that stay closed:
//! all that could make a later git, outside, run a program or take another directory for the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{self, Found, Missing};
use crate::grant::STEERS;

/// The protected names of a repository, and its opened directories.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Names that are there and stay as they are.
    pub(super) held: Vec<Found>,
    /// Names that must not be created.
    pub(super) missing: Vec<Missing>,
    /// Its directories that a pointer leads to.
    pub(super) opened: Vec<Found>,
}

/// The repository at `found`: its directory, or a pointer, its target and the common directory.
/// None if it is not plain that they belong together: then all of it stays closed.
pub(super) fn of(found: &[Found]) -> Option<History> {
    let mut history = History::default();
    match found {
        [folder] if folder.folder && folder.links.is_empty() => history.hold(&folder.real),
        [pointer, folder, common] if is_worktree(pointer, folder, common) => {
            history.held.push(pointer.clone());
            history.hold(&common.real);
            history.opened.extend([common.clone(), folder.clone()]);
        }
        [pointer, folder] if is_submodule(pointer, folder) => {
            history.held.push(pointer.clone());
            history.hold(&folder.real);
            history.opened.push(folder.clone());
        }
        _ => return None,
    }
    Some(history)
}

/// A pointer can say anything; the repository has to name it, too.
fn is_worktree(pointer: &Found, folder: &Found, common: &Found) -> bool {
    let says = fs::read_to_string(folder.real.join("gitdir"));
    let named = says.ok().and_then(|says| paths::find(&folder.real.join(says.trim())));
    let listed = folder.real.parent() == Some(&common.real.join("worktrees"));
    listed && is_repository(&common.real) && named.is_some_and(|named| named.real == pointer.real)
}

fn is_submodule(pointer: &Found, folder: &Found) -> bool {
    let Some(root) = pointer.real.parent() else { return false };
    let text = fs::read_to_string(folder.real.join("config")).unwrap_or_default();
    let says = text.lines().filter_map(|line| line.trim().strip_prefix("worktree"));
    let value = |line: &str| line.trim_start().strip_prefix('=').map(|text| text.trim().to_owned());
    let mut named = says.filter_map(value).map(|text| paths::find(&folder.real.join(text)));
    is_repository(&folder.real) && named.any(|named| named.is_some_and(|named| named.real == root))
}

fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").exists() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

impl History {
    fn hold(&mut self, git: &Path) {
        self.hold_names(git);
        for module in folders(&git.join("modules")).into_iter().flat_map(|one| modules(&one)) {
            self.hold_names(&module);
        }
        for worktree in folders(&git.join("worktrees")) {
            self.hold_names(&worktree);
        }
    }

    fn hold_names(&mut self, git: &Path) {
        for path in STEERS.map(|name| git.join(name)) {
            match paths::find(&path) {
                Some(found) => self.held.push(found),
                None => self.missing.extend(paths::missing(&path)),
            }
        }
    }
}

/// The repositories at and below `folder`; a submodule's name may have slashes.
fn modules(folder: &Path) -> Vec<PathBuf> {
    match folder.join("HEAD").exists() {
        true => {
            let inner = folders(&folder.join("modules"));
            let inner = inner.iter().flat_map(|one| modules(one));
            std::iter::once(folder.to_owned()).chain(inner).collect()
        }
        false => folders(folder).iter().flat_map(|one| modules(one)).collect(),
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|e| e.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::git::below;
    use super::*;
    use crate::plan::names::Name;

    const GIT: Name = Name { name: ".git", git: true };

    fn repository(at: &Path) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::create_dir_all(at.join("refs")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(at.join("config"), "[core]\n").unwrap();
    }

    fn worktree(root: &Path, back: &str) -> Option<History> {
        repository(&root.join("main/.git"));
        let git = root.join("main/.git/worktrees/w");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::create_dir_all(root.join("v")).unwrap();
        fs::write(root.join("v/.git"), "").unwrap();
        fs::write(git.join("commondir"), "../..\n").unwrap();
        fs::write(git.join("gitdir"), format!("{}\n", root.join(back).display())).unwrap();
        fs::write(root.join("w/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        of(&below(&root.join("w"), &GIT))
    }

    #[test]
    fn a_worktree_is_opened_and_what_steers_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let history = worktree(&root, "w/.git").unwrap();
        let opened: Vec<_> = history.opened.iter().map(|found| found.real.clone()).collect();
        assert_eq!(opened, ["main/.git", "main/.git/worktrees/w"].map(|path| root.join(path)));
        let held = |path: &str| history.held.iter().any(|found| found.real == root.join(path));
        assert!(held("w/.git") && held("main/.git/config"));
        assert!(held("main/.git/worktrees/w/gitdir") && held("main/.git/worktrees/w/commondir"));
        let absent = |path: &str| history.missing.iter().any(|one| one.real == root.join(path));
        assert!(absent("main/.git/hooks") && absent("main/.git/objects/info/alternates"));
    }

    #[test]
    fn a_repository_that_does_not_name_the_pointer_stays_closed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert!(worktree(&root, "v/.git").is_none());
    }

    #[test]
    fn a_submodule_is_opened_if_its_configuration_names_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = root.join(".git/modules/sub");
        repository(&git);
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        assert!(of(&below(&root.join("sub"), &GIT)).is_none());
        fs::write(git.join("config"), "[core]\n\tworktree = ../../../sub\n").unwrap();
        let history = of(&below(&root.join("sub"), &GIT)).unwrap();
        assert_eq!(history.opened[0].real, git);
    }
}
