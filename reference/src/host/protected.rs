//! The paths that `protect: metadata` covers on this host ([`ProtectedPaths`]): the names directly below
//! each writable root, and repositories in the directories below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::git_history::{self, GitHistory};
use super::git_steering::{self, SteeringPaths};
use super::{ExistingPath, MissingPath, fold, git, paths, reachability};
use crate::policy::protected_names::{PROTECTED, ProtectedName};

/// Trees that the kernel makes: no repository of a user's lies there.
const KERNEL: [&str; 3] = ["/proc", "/dev", "/sys"];

/// Protected names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ProtectedPaths {
    /// Existing names, links resolved, and the targets of git pointers.
    pub(crate) there: Vec<ExistingPath>,
    /// Missing names, and the missing targets of dangling links and pointers.
    pub(crate) missing: Vec<MissingPath>,
    /// The links that lead to either: each is a name that must not be replaced.
    pub(crate) links: Vec<MissingPath>,
    /// Git directories outside the workspace whose history a grant opens.
    pub(crate) history: Vec<ExistingPath>,
    /// A directory that could not be searched for repositories.
    pub(crate) closed: Option<PathBuf>,
}

impl ProtectedPaths {
    /// Examines `roots` (real paths), except the names that `grants` reopen.
    pub(crate) fn observe(roots: &[PathBuf], grants: &[String]) -> Self {
        let mut all = Self::default();
        let first = if fault!("plan.first-root-alone") { 1 } else { roots.len() };
        let protected = || PROTECTED.iter().filter(|name| !dropped!("protected-names", name.name));
        for root in roots.iter().take(first) {
            let folds = fold::folds(root);
            for name in protected().filter(|name| !name.granted_by(grants)) {
                if !all.take(root, name, grants, roots) {
                    let real = root.join(name.name);
                    all.missing.push(MissingPath { real, links: Vec::new(), folds });
                }
            }
        }
        let nests = |name: &&ProtectedName| name.git && !fault!("plan.nested-repositories");
        for name in protected().filter(nests).filter(|name| !name.granted_by(grants)) {
            all.nested(roots, name, grants);
        }
        if !fault!("plan.links-loose") {
            all.links = all.on_the_way();
        }
        all
    }

    /// Adds the object at `name` in `directory`, if it exists.
    fn take(
        &mut self,
        directory: &Path,
        name: &ProtectedName,
        grants: &[String],
        roots: &[PathBuf],
    ) -> bool {
        let path = directory.join(name.name);
        let found = git::below(directory, name);
        if name.git && !fault!("plan.steering-files") {
            let SteeringPaths { there, missing, closed } =
                git_steering::steering_paths(&found, directory, roots);
            self.there.extend(there);
            self.missing.extend(missing);
            closed.into_iter().for_each(|closed| self.shut(closed));
        }
        if name.history_granted_by(grants)
            && let Some(GitHistory { held, missing, opened }) = git_history::git_history(&found)
        {
            self.there.extend(held);
            self.missing.extend(missing);
            self.history.extend(opened);
            return true;
        }
        let stands = !found.is_empty() || fs::symlink_metadata(&path).is_ok();
        if stands && found.is_empty() {
            let nowhere =
                || MissingPath { real: path.clone(), links: vec![path.clone()], folds: false };
            self.missing.push(paths::missing(&path).unwrap_or_else(nowhere));
        }
        let pointer = found.first().filter(|_| name.git && !fault!("plan.dangling-pointers"));
        self.missing.extend(pointer.into_iter().flat_map(|found| git::dangling(found, directory)));
        self.there.extend(found);
        stands
    }

    /// Repositories below `roots` that are there now. One that is made later is its maker's own.
    fn nested(&mut self, roots: &[PathBuf], name: &ProtectedName, grants: &[String]) {
        let below =
            |root: &PathBuf| !roots.iter().any(|other| other != root && root.starts_with(other));
        let mut ahead: Vec<PathBuf> = roots.iter().filter(|root| below(root)).cloned().collect();
        while let Some(directory) = ahead.pop() {
            if KERNEL.iter().any(|tree| directory == Path::new(tree)) {
                continue;
            }
            let Ok(entries) = fs::read_dir(&directory) else {
                self.shut(directory);
                continue;
            };
            let is_root = roots.contains(&directory);
            for entry in entries.filter_map(Result::ok) {
                let own = entry.file_name();
                // A root's own was looked at.
                if !is_root
                    && own.eq_ignore_ascii_case(name.name)
                    && !self.take(&directory, name, grants, roots)
                {
                    self.shut(directory.join(&own));
                }
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && own != name.name {
                    ahead.push(directory.join(own));
                }
            }
        }
    }

    /// Notes that `directory` cannot be looked into, if the command could be able to.
    fn shut(&mut self, directory: PathBuf) {
        if reachability::may_be_entered(&directory) {
            self.closed = Some(directory);
        }
    }

    /// Every link on the way to something protected.
    fn on_the_way(&self) -> Vec<MissingPath> {
        let there = self.there.iter().flat_map(|found| &found.links);
        let missing = self.missing.iter().flat_map(|missing| &missing.links);
        let links: BTreeSet<&PathBuf> = there.chain(missing).collect();
        let folds = |link: &Path| link.parent().is_some_and(fold::folds);
        let held = |link: &PathBuf| MissingPath {
            real: link.clone(),
            links: Vec::new(),
            folds: folds(link),
        };
        links.into_iter().map(held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn observed(root: &Path, grants: &[&str]) -> ProtectedPaths {
        let grants: Vec<String> = grants.iter().map(|grant| (*grant).to_owned()).collect();
        ProtectedPaths::observe(&[root.to_owned()], &grants)
    }

    /// Paths below `root`, sorted.
    fn below<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
        let own = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        let mut paths: Vec<_> = paths.map(own).collect();
        paths.sort();
        paths
    }

    fn there(root: &Path, grants: &[&str]) -> Vec<String> {
        let all = observed(root, grants);
        below(root, all.there.iter().map(|found| &found.real))
    }

    #[test]
    fn repositories_in_directories_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in [".git/modules/s/.git", "a/.git", "a/b/c/.git", "a/.claude", "d/.github"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::create_dir(root.join("s")).unwrap();
        fs::write(root.join("s/.git"), "gitdir: ../.git/modules/s\n").unwrap();
        symlink(".", root.join("again")).unwrap();
        let expected = [".git", ".git/modules/s", "a/.git", "a/b/c/.git", "s/.git"];
        assert_eq!(there(&root, &[]), expected);
        assert_eq!(there(&root, &[crate::policy::GIT_CONFIG_GRANT]), [""; 0]);
    }

    #[test]
    fn links_are_kept_wherever_they_lead() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir_all(root.join("sub")).unwrap();
        symlink("way", root.join(".claude")).unwrap();
        symlink("real", root.join("way")).unwrap();
        symlink("sub/none", root.join(".mcp.json")).unwrap();
        symlink(".envrc", root.join(".envrc")).unwrap();
        symlink("../nowhere", root.join("sub/.git")).unwrap();
        let all = observed(&root, &[]);
        assert_eq!(below(&root, all.there.iter().map(|found| &found.real)), ["real"]);
        let links = [".claude", ".envrc", ".mcp.json", "sub/.git", "way"];
        assert_eq!(below(&root, all.links.iter().map(|link| &link.real)), links);
        let missing = below(&root, all.missing.iter().map(|missing| &missing.real));
        for name in ["sub/none", "nowhere", ".git", ".bashrc"] {
            assert!(missing.contains(&name.to_owned()), "{name}: {missing:?}");
        }
        for name in [".mcp.json", ".claude"] {
            assert!(!missing.contains(&name.to_owned()), "{name}: {missing:?}");
        }
    }

    #[rstest]
    #[case::not_read("shut", 0o300, "shut")]
    #[case::listed_only("shut", 0o400, "shut/sub")]
    #[case::closed("shut", 0o000, "shut")]
    #[case::the_repository_itself("shut/sub", 0o400, "shut/sub/.git")]
    #[case::its_directory_of_git("shut/sub/.git", 0o400, "shut/sub/.git/config")]
    fn a_directory_of_ours_that_cannot_be_looked_into_is_told(
        #[case] path: &str,
        #[case] mode: u32,
        #[case] told: &str,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("shut/sub/.git")).unwrap();
        fs::write(root.join("shut/sub/.git/config"), "").unwrap();
        let set = |mode| {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        set(mode);
        let closed = crate::sys::without_capabilities(|| observed(&root, &[]).closed).unwrap();
        set(0o700);
        assert_eq!(closed, Some(root.join(told)));
        assert_eq!(observed(&root, &[]).closed, None);
    }
}
