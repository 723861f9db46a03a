//! Protected names below a root, and the directories that a `.git` pointer file leads to.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{self, ExistingPath, MissingPath};
use crate::policy::protected_names::ProtectedName;

/// Finds `name` directly below `directory`: the object itself, then the target of its pointer.
pub(super) fn below(directory: &Path, name: &ProtectedName) -> Vec<ExistingPath> {
    let Some(found) = paths::find(&directory.join(name.name)) else { return Vec::new() };
    let pointed = match name.git && !found.directory && !fault!("plan.pointed-repositories") {
        true => pointed_to(&found.real, directory),
        false => Vec::new(),
    };
    std::iter::once(found).chain(pointed).collect()
}

/// Returns the missing target of the pointer file `found`, `.git` in `directory`, if it dangles: a
/// directory made there would be the repository.
pub(super) fn dangling(found: &ExistingPath, directory: &Path) -> Option<MissingPath> {
    paths::missing(&target(&found.real, directory)?)
}

/// The git directory of a pointer file (`gitdir: PATH`) and the common directory of a worktree.
fn pointed_to(pointer: &Path, directory: &Path) -> Vec<ExistingPath> {
    let target = target(pointer, directory).and_then(|target| paths::find(&target));
    let common = target.as_ref().and_then(|target| {
        let says = fs::read_to_string(target.real.join("commondir")).ok()?;
        paths::find(&target.real.join(PathBuf::from(says.trim())))
    });
    target.into_iter().chain(common).collect()
}

/// Reads the target of the pointer file. Git resolves it from the directory of the name, even if
/// the name is a link.
fn target(pointer: &Path, directory: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(pointer).ok()?;
    let target = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    Some(directory.join(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIT: ProtectedName = ProtectedName { name: ".git", git: true };

    #[test]
    fn a_pointer_leads_to_its_directory_and_the_common_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("main/.git/worktrees/w")).unwrap();
        fs::write(root.join("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::create_dir(root.join("w")).unwrap();
        fs::write(root.join("w/.git"), "gitdir: ../main/.git/worktrees/w\n").unwrap();
        let found: Vec<_> = below(&root.join("w"), &GIT).into_iter().map(|f| f.real).collect();
        let expected = ["w/.git", "main/.git/worktrees/w", "main/.git"].map(|p| root.join(p));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_pointer_to_nothing_leads_to_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::write(root.join(".git"), "gitdir: store/repo\n").unwrap();
        let found = below(&root, &GIT);
        let missing = dangling(&found[0], &root).map(|missing| missing.real);
        assert_eq!(missing, Some(root.join("store/repo")));
        fs::create_dir_all(root.join("store/repo")).unwrap();
        assert_eq!(dangling(&found[0], &root), None);
    }

    #[test]
    fn a_link_to_a_pointer_starts_where_the_link_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::create_dir_all(root.join("w/store")).unwrap();
        fs::write(root.join("pointer"), "gitdir: store\n").unwrap();
        std::os::unix::fs::symlink("../pointer", root.join("w/.git")).unwrap();
        let found: Vec<_> = below(&root.join("w"), &GIT).into_iter().map(|f| f.real).collect();
        assert_eq!(found, ["pointer", "w/store"].map(|p| root.join(p)));
    }
}
