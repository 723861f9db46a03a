//! The parts of a repository that the grant for its history opens, and the parts that stay closed:
//! all that could make a later git, outside, run a program or take another directory for the
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{self, ExistingPath, MissingPath};
use crate::policy::grant::STEERS;

/// The protected names of a repository, and its opened directories.
#[derive(Debug, Default)]
pub(super) struct GitHistory {
    /// Names that are there and stay as they are.
    pub(super) held: Vec<ExistingPath>,
    /// Names that must not be created.
    pub(super) missing: Vec<MissingPath>,
    /// Its directories that a pointer leads to.
    pub(super) opened: Vec<ExistingPath>,
}

/// The repository at `found`: its directory, or a pointer, its target and the common directory.
/// None if it is not plain that they belong together, or a part cannot be looked at: then all of it
/// stays closed.
pub(super) fn git_history(found: &[ExistingPath]) -> Option<GitHistory> {
    let mut history = GitHistory::default();
    match found {
        [directory] if directory.directory && directory.links.is_empty() => {
            history.hold(&directory.real)?;
        }
        [pointer, directory, common] if is_worktree(pointer, directory, common) => {
            history.held.push(pointer.clone());
            history.hold(&common.real)?;
            history.opened.extend([common.clone(), directory.clone()]);
        }
        [pointer, directory] if is_submodule(pointer, directory) => {
            history.held.push(pointer.clone());
            history.hold(&directory.real)?;
            history.opened.push(directory.clone());
        }
        _ => return None,
    }
    Some(history)
}

/// A pointer can say anything; the repository has to name it, too.
fn is_worktree(pointer: &ExistingPath, directory: &ExistingPath, common: &ExistingPath) -> bool {
    let says = fs::read_to_string(directory.real.join("gitdir"));
    let named = says.ok().and_then(|says| paths::find(&directory.real.join(says.trim())));
    let listed = directory.real.parent() == Some(&common.real.join("worktrees"));
    listed && is_repository(&common.real) && named.is_some_and(|named| named.real == pointer.real)
}

fn is_submodule(pointer: &ExistingPath, directory: &ExistingPath) -> bool {
    let Some(root) = pointer.real.parent() else { return false };
    let text = fs::read_to_string(directory.real.join("config")).unwrap_or_default();
    let says = text.lines().filter_map(|line| line.trim().strip_prefix("worktree"));
    let value = |line: &str| line.trim_start().strip_prefix('=').map(|text| text.trim().to_owned());
    let mut named = says.filter_map(value).map(|text| paths::find(&directory.real.join(text)));
    is_repository(&directory.real)
        && named.any(|named| named.is_some_and(|named| named.real == root))
}

/// Returns whether `directory` has the parts of a repository.
pub(super) fn is_repository(directory: &Path) -> bool {
    directory.join("HEAD").exists()
        && directory.join("objects").is_dir()
        && directory.join("refs").is_dir()
}

impl GitHistory {
    /// Holds what steers the repository at `git`. None if a part of it cannot be looked at.
    fn hold(&mut self, git: &Path) -> Option<()> {
        self.hold_names(git)?;
        self.hold_modules(&git.join("modules"))?;
        for worktree in directories(&git.join("worktrees"))? {
            self.hold_names(&worktree)?;
            self.hold_modules(&worktree.join("modules"))?;
        }
        Some(())
    }

    fn hold_names(&mut self, git: &Path) -> Option<()> {
        let steers = STEERS.into_iter().filter(|name| !dropped!("git-steering", name));
        for path in steers.map(|name| git.join(name)) {
            match paths::find(&path) {
                Some(found) => self.held.push(found),
                None => self.missing.push(paths::missing(&path)?),
            }
        }
        Some(())
    }

    /// Holds what steers the repositories below `directory`; a submodule's name may have slashes. A repository
    /// of which a part was moved away is one, too.
    fn hold_modules(&mut self, directory: &Path) -> Option<()> {
        for inner in directories(directory)? {
            if SIGNS.iter().any(|sign| !paths::is_absent(&inner.join(sign))) {
                self.hold_names(&inner)?;
            }
            let deeper = if is_repository(&inner) { inner.join("modules") } else { inner };
            self.hold_modules(&deeper)?;
        }
        Some(())
    }
}

/// Parts by which a repository is known.
const SIGNS: [&str; 4] = ["HEAD", "config", "objects", "hooks"];

/// Lists the directories in `directory`, none if that is absent; `None` if it cannot be read.
fn directories(directory: &Path) -> Option<Vec<PathBuf>> {
    if paths::is_absent(directory) {
        return Some(Vec::new());
    }
    let entries = fs::read_dir(directory).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    Some(entries.iter().filter(|entry| is_directory(entry)).map(fs::DirEntry::path).collect())
}

#[cfg(test)]
mod tests {
    use super::super::git::below;
    use super::*;
    use crate::policy::protected_names::ProtectedName;
    use rstest::rstest;
    use std::os::unix::fs::PermissionsExt;

    const GIT: ProtectedName = ProtectedName { name: ".git", git: true };

    fn repository(at: &Path) {
        fs::create_dir_all(at.join("objects")).unwrap();
        fs::create_dir_all(at.join("refs")).unwrap();
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(at.join("config"), "[core]\n").unwrap();
    }

    fn worktree(root: &Path, back: &str) -> Option<GitHistory> {
        repository(&root.join("main/.git"));
        let git = root.join("main/.git/worktrees/w");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::create_dir_all(root.join("v")).unwrap();
        fs::write(root.join("v/.git"), "").unwrap();
        fs::write(git.join("commondir"), "../..\n").unwrap();
        fs::write(git.join("gitdir"), format!("{}\n", root.join(back).display())).unwrap();
        fs::write(root.join("w/.git"), format!("gitdir: {}\n", git.display())).unwrap();
        git_history(&below(&root.join("w"), &GIT))
    }

    #[test]
    fn a_worktree_is_opened_and_what_steers_it_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
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
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        assert!(worktree(&root, "v/.git").is_none());
    }

    #[test]
    fn a_submodule_is_opened_if_its_configuration_names_the_workspace() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = root.join(".git/modules/sub");
        repository(&git);
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        assert!(git_history(&below(&root.join("sub"), &GIT)).is_none());
        fs::write(git.join("config"), "[core]\n\tworktree = ../../../sub\n").unwrap();
        let history = git_history(&below(&root.join("sub"), &GIT)).unwrap();
        assert_eq!(history.opened[0].real, git);
    }

    #[rstest]
    #[case::itself("")]
    #[case::modules("modules")]
    #[case::a_module("modules/sub")]
    #[case::worktrees("worktrees")]
    #[case::a_worktree("worktrees/w")]
    #[case::objects("objects")]
    #[case::info("info")]
    fn a_repository_stays_closed_where_a_part_cannot_be_looked_at(#[case] part: &str) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = root.join(".git");
        repository(&git);
        repository(&git.join("modules/sub"));
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        fs::create_dir(git.join("info")).unwrap();
        let set = |mode| {
            fs::set_permissions(git.join(part), fs::Permissions::from_mode(mode)).unwrap();
        };
        let history = || git_history(&below(&root, &GIT));
        set(0o400);
        let told = crate::sys::without_capabilities(history).unwrap();
        set(0o700);
        assert!(told.is_none());
        assert!(history().is_some());
    }

    #[rstest]
    #[case::of_a_worktree("worktrees/w/modules/sub", None)]
    #[case::without_its_head("modules/a/sub", Some("HEAD"))]
    #[case::without_its_objects("modules/a/sub", Some("objects"))]
    fn every_submodule_is_held(#[case] module: &str, #[case] moved: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        repository(&root.join(".git"));
        let module = root.join(".git").join(module);
        repository(&module);
        if let Some(name) = moved {
            fs::rename(module.join(name), module.join("away")).unwrap();
        }
        let history = git_history(&below(&root, &GIT)).unwrap();
        assert!(history.held.iter().any(|found| found.real == module.join("config")));
        assert!(history.missing.iter().any(|one| one.real == module.join("hooks")));
    }
}
