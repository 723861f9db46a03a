//! Protected names below a root, and the directories that a `.git` pointer file leads to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git_history;
use super::paths::{self, ExistingPath, MissingPath};
use crate::policy::protected_names::ProtectedName;

/// The maximum size of a pointer or a configuration; a larger file, or one that is not regular, is
/// not read.
const LARGEST: u64 = 1 << 20;

/// Finds `name` directly below `directory`: the object itself, then the target of its pointer.
pub(super) fn below(directory: &Path, name: &ProtectedName) -> Vec<ExistingPath> {
    let Some(found) = paths::find(&directory.join(name.name)) else { return Vec::new() };
    let pointed = match name.git && !fault!("plan.pointed-repositories") {
        true => pointed_to(&found, directory),
        false => Vec::new(),
    };
    std::iter::once(found).chain(pointed).collect()
}

/// Returns the missing targets of `found`, `.git` in `directory`: a directory made there would be
/// the repository, or the one that it shares its settings with.
pub(super) fn dangling(found: &ExistingPath, directory: &Path) -> Vec<MissingPath> {
    let targets = targets(found, directory);
    let git = git_directories(found, &targets);
    let common = git.iter().flat_map(|git| common(git));
    targets.iter().cloned().chain(common).filter_map(|target| paths::missing(&target)).collect()
}

/// Returns whether `directory` is in a repository below that of `workspace` which is neither a submodule nor a
/// worktree of it: the command may have made it, with hooks of its own.
pub(crate) fn is_in_another_repository(directory: &Path, workspace: &Path) -> bool {
    const GIT: ProtectedName = ProtectedName { name: ".git", git: true };
    let Some((directory, root)) = paths::find(directory).zip(paths::find(workspace)) else {
        return false;
    };
    let git = root.real.join(GIT.name);
    if paths::is_absent(&git) {
        return false;
    }
    let within = |it: &&Path| it.starts_with(&root.real) && *it != root.real;
    directory.real.ancestors().take_while(within).any(|it| match &below(it, &GIT)[..] {
        [] => git_history::is_repository(it) && !it.starts_with(&git),
        [_, pointed, ..] => !pointed.real.starts_with(&git),
        [_] => true,
    })
}

/// Reads `path`, unless it is large or no regular file.
pub(super) fn small_file(path: &Path) -> Option<Vec<u8>> {
    let is_plain = |found: &fs::Metadata| found.is_file() && found.len() <= LARGEST;
    fs::metadata(path).ok().filter(is_plain)?;
    fs::read(path).ok()
}

/// The git directories of a pointer file (`gitdir: PATH`) and the common directory of a worktree.
fn pointed_to(found: &ExistingPath, directory: &Path) -> Vec<ExistingPath> {
    let pointed: Vec<_> =
        targets(found, directory).iter().filter_map(|target| paths::find(target)).collect();
    let own = std::iter::once(found).filter(|found| found.directory);
    let common = own.chain(&pointed).flat_map(|git| common(&git.real));
    let common: Vec<_> = common.filter_map(|target| paths::find(&target)).collect();
    pointed.into_iter().chain(common).collect()
}

/// The git directories that are there: `found` itself, or the targets of its pointer.
fn git_directories(found: &ExistingPath, targets: &[PathBuf]) -> Vec<PathBuf> {
    let own = found.directory.then(|| found.real.clone());
    let pointed = targets.iter().filter_map(|target| paths::find(target));
    own.into_iter().chain(pointed.map(|pointed| pointed.real)).collect()
}

/// Reads the targets of the pointer file `found`. Git resolves them from the directory of the name,
/// even if the name is a link.
fn targets(found: &ExistingPath, directory: &Path) -> Vec<PathBuf> {
    let text = (!found.directory).then(|| small_file(&found.real)).flatten().unwrap_or_default();
    let named = text.strip_prefix(b"gitdir:").map(|named| readings(named, b" "));
    named.unwrap_or_default().into_iter().map(|target| directory.join(target)).collect()
}

/// Reads the common directories that the git directory `git` names.
fn common(git: &Path) -> Vec<PathBuf> {
    let text = small_file(&git.join("commondir")).unwrap_or_default();
    readings(&text, b"").into_iter().map(|target| git.join(target)).collect()
}

/// Returns the paths that `text` names after `lead`: as git reads it, without the ends of lines
/// behind it, and as other programs do, without any blanks around its first line.
fn readings(text: &[u8], lead: &[u8]) -> Vec<PathBuf> {
    let ends = text.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let whole = text[..text.len() - ends].strip_prefix(lead);
    let first = text.trim_ascii().split(|byte| *byte == b'\n').next();
    let until_nul = |text: &[u8]| text.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
    let mut readings: Vec<_> = [whole, first.map(<[u8]>::trim_ascii)]
        .into_iter()
        .flatten()
        .filter_map(until_nul)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsStr::from_bytes(&path)))
        .collect();
    readings.dedup_by(|a, b| a.as_os_str() == b.as_os_str());
    readings
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
        let missing: Vec<_> = dangling(&found[0], &root).into_iter().map(|m| m.real).collect();
        assert_eq!(missing, [root.join("store/repo")]);
        fs::create_dir_all(root.join("store/repo")).unwrap();
        assert_eq!(dangling(&found[0], &root), []);
    }

    #[rstest]
    #[case::no_utf8(b"gitdir: store\xff\n", b"store\xff")]
    #[case::blank_at_the_end(b"gitdir: store \r\n", b"store ")]
    #[case::blank_at_the_beginning(b"gitdir:  store\n\n", b" store")]
    #[case::line_within(b"gitdir: st\nore", b"st\nore")]
    #[case::without_a_blank(b"gitdir:store\n", b"store")]
    fn a_pointer_is_read_as_git_does(#[case] pointer: &[u8], #[case] store: &[u8]) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let store = root.join(OsStr::from_bytes(store));
        fs::create_dir(&store).unwrap();
        fs::write(root.join(".git"), pointer).unwrap();
        let found: Vec<_> = below(&root, &GIT).into_iter().map(|f| f.real).collect();
        assert_eq!(found, [root.join(".git"), store.clone()]);
    }

    #[rstest]
    #[case::no_utf8(b"../all\xff\n", b"all\xff")]
    #[case::blank_at_the_end(b"../all \n", b"all ")]
    fn a_git_directory_leads_to_its_common_directory(#[case] says: &[u8], #[case] name: &[u8]) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let common = root.join(OsStr::from_bytes(name));
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/commondir"), says).unwrap();
        let git = below(&root, &GIT);
        let missing: Vec<_> = dangling(&git[0], &root).into_iter().map(|m| m.real).collect();
        assert!(missing.contains(&common), "{missing:?}");
        fs::create_dir(&common).unwrap();
        let found: Vec<_> = below(&root, &GIT).into_iter().map(|f| f.real).collect();
        assert_eq!(found, [root.join(".git"), common]);
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

    #[test]
    fn another_repository_is_told_from_the_workspaces_own() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in ["w/.git/modules/s", "w/.git/worktrees/t", "w/a", "w/evil/.git/b", "w/s", "w/t"]
        {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in ["w/bare/objects", "w/bare/refs", "w/fake", "out"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("w/bare/HEAD"), "").unwrap();
        fs::write(root.join("w/s/.git"), "gitdir: ../.git/modules/s\n").unwrap();
        fs::write(root.join("w/t/.git"), "gitdir: ../.git/worktrees/t\n").unwrap();
        fs::write(root.join("w/fake/.git"), "gitdir: ../../out\n").unwrap();
        let is = |path: &str| is_in_another_repository(&root.join(path), &root.join("w"));
        for path in ["w", "w/a", "w/s", "w/t", "w/none"] {
            assert!(!is(path), "{path}");
        }
        for path in ["w/evil", "w/bare", "w/fake"] {
            assert!(is(path), "{path}");
        }
        fs::rename(root.join("w/.git"), root.join("gone")).unwrap();
        assert!(!is("w/evil"));
    }
}
