//! Protected names below a root, and the folders that a `.git` pointer file leads to.

use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{self, Found, Missing};
use crate::plan::names::Name;

/// What exists of `name` directly below `root`: the thing itself, then what it points to.
pub(super) fn below(root: &Path, name: &Name) -> Vec<Found> {
    let path = root.join(name.name);
    let Some(found) = present(&path) else { return Vec::new() };
    let pointed = match name.git {
        true if !found.folder && found.links.is_empty() => pointed_to(&found.real),
        _ => Vec::new(),
    };
    std::iter::once(found).chain(pointed).collect()
}

/// Where the pointer file `found` leads to nothing, if it does: what would be made there would be
/// the repository.
pub(super) fn dangling(found: &Found) -> Option<Missing> {
    paths::missing(&target(&found.real)?)
}

/// Like [`paths::find`], but a link that leads nowhere is present too.
pub(super) fn present(path: &Path) -> Option<Found> {
    let dangling = || {
        let stands = fs::symlink_metadata(path).is_ok();
        stands.then(|| Found::at(path.into(), false, vec![path.into()]))
    };
    paths::find(path).or_else(dangling)
}

/// The git folder of a pointer file (`gitdir: PATH`) and the common folder of a worktree.
fn pointed_to(pointer: &Path) -> Vec<Found> {
    let folder = target(pointer).and_then(|target| paths::find(&target));
    let common = folder.as_ref().and_then(|folder| {
        let target = fs::read_to_string(folder.real.join("commondir")).ok()?;
        paths::find(&folder.real.join(PathBuf::from(target.trim())))
    });
    folder.into_iter().chain(common).collect()
}

/// What the file says.
fn target(pointer: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(pointer).ok()?;
    let target = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    Some(pointer.parent()?.join(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIT: Name = Name { name: ".git", git: true };

    #[test]
    fn a_pointer_leads_to_its_folder_and_the_common_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join(".git"), "gitdir: store/repo\n").unwrap();
        let found = below(&root, &GIT);
        let missing = dangling(&found[0]).map(|missing| missing.real);
        assert_eq!(missing, Some(root.join("store/repo")));
        fs::create_dir_all(root.join("store/repo")).unwrap();
        assert_eq!(dangling(&found[0]), None);
    }

    #[test]
    fn a_dangling_link_is_present_and_an_absent_name_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(below(folder.path(), &GIT), []);
        std::os::unix::fs::symlink("nothing", folder.path().join(".git")).unwrap();
        let found = below(folder.path(), &GIT);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].links, [folder.path().join(".git")]);
    }
}
