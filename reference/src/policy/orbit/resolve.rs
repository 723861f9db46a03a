//! Resolution of a path on the disk, and the decision about its target.
//!
//! Every link on the way is followed, also a dangling one, so that the decision is about the object
//! that a write would create. The requested path and its target are both decided on, and the
//! stricter decision holds. Where the workspace's root ignores case, so do refusals.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::decide::{PolicyDecision, PolicyOperation};
use super::profile::ResolvedProfile;
use super::workspace_path::spelled;
use crate::policy::case_fold::folded;
use crate::sys::case_insensitive::folds;

/// The placeholder for the rule where a path resolves to a target outside the workspace.
pub const OUTSIDE: &str = "<outside workspace>";

/// Links that are followed for one path, as the kernel does.
const MOST_LINKS: usize = 40;

/// A workspace on the disk.
#[derive(Debug, Clone)]
pub struct PathResolver {
    root: PathBuf,
    /// The root ignores case.
    folds: bool,
}

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedPath {
    /// These names below the workspace's root.
    Inside(Vec<Vec<u8>>),
    /// This place, which is not in the workspace.
    Outside(PathBuf),
}

impl PathResolver {
    /// Opens the workspace at `root`, links followed.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let folds = folds(&root);
        Ok(Self { root, folds })
    }

    /// Resolves the path of these names below the root.
    ///
    /// # Errors
    /// A loop of links, or a directory that cannot be read.
    pub fn resolve<N: AsRef<[u8]>>(&self, names: &[N]) -> io::Result<ResolvedPath> {
        let own = names.iter().map(|name| OsString::from_vec(name.as_ref().to_vec()));
        let mut left: VecDeque<OsString> = own.collect();
        let (mut at, mut links) = (self.root.clone(), 0);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(self.spelled(&at, name));
            match std::fs::read_link(&next) {
                Ok(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::Error::from_raw_os_error(libc::ELOOP));
                    }
                    for part in target.components().rev() {
                        match part {
                            Component::Normal(name) => left.push_front(name.to_owned()),
                            Component::ParentDir => left.push_front("..".into()),
                            Component::RootDir => at = PathBuf::from("/"),
                            Component::CurDir | Component::Prefix(_) => {}
                        }
                    }
                }
                // No link, or no object: a write would create it here.
                Err(error) if is_no_link(&error) => at = next,
                Err(error) => return Err(error),
            }
        }
        Ok(match at.strip_prefix(&self.root) {
            Ok(inside) => ResolvedPath::Inside(
                inside.components().map(|part| part.as_os_str().as_bytes().to_vec()).collect(),
            ),
            Err(_) => ResolvedPath::Outside(at),
        })
    }

    /// Resolves the path of these names.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn look_up_names(&self, names: Vec<Vec<u8>>) -> io::Result<LookedUpPath> {
        let means = self.resolve(&names)?;
        Ok(LookedUpPath { names, means, folds: self.folds })
    }

    /// `name` as the directory `at` spells it, if that ignores case and has it.
    fn spelled(&self, at: &Path, name: OsString) -> OsString {
        if !self.folds {
            return name;
        }
        let entries = std::fs::read_dir(at).into_iter().flatten().filter_map(Result::ok);
        let wanted = folded(name.as_bytes());
        let same = |entry: &OsString| folded(entry.as_bytes()) == wanted;
        let found: Vec<OsString> = entries.map(|entry| entry.file_name()).filter(same).collect();
        match found.first() {
            Some(stored) if !found.contains(&name) => stored.clone(),
            _ => name,
        }
    }
}

/// A resolved path: the requested names, and the target.
#[derive(Debug, Clone)]
pub struct LookedUpPath {
    /// Its requested names.
    pub names: Vec<Vec<u8>>,
    /// The target.
    pub means: ResolvedPath,
    folds: bool,
}

impl LookedUpPath {
    /// Decides about the target, the requested path and, where the root ignores case, both without
    /// regard to case; the strictest decision holds. `None` if the target is outside the workspace.
    pub fn decide<'a>(
        &self,
        profile: &'a ResolvedProfile,
        op: PolicyOperation,
    ) -> Option<PolicyDecision<'a>> {
        let ResolvedPath::Inside(real) = &self.means else { return None };
        let real = &spelled(real);
        let meant = profile.decide(op, real);
        let asked = || profile.decide(op, &self.names);
        let folding = || match self.folds {
            true => profile.decide_folding(op, real),
            false => meant,
        };
        Some([meant, asked(), folding()].into_iter().find(|one| !one.allowed).unwrap_or(meant))
    }
}

fn is_no_link(error: &io::Error) -> bool {
    // A file where a directory should be: nothing exists below it.
    let known = [libc::EINVAL, libc::ENOENT, libc::ENOTDIR].map(Some);
    known.contains(&error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::super::{PolicyDocument, PolicySet, WorkspacePath};
    use super::*;
    use rstest::rstest;

    /// A case-sensitive directory stands for a case-insensitive one: its names are looked up in any
    /// letters.
    #[rstest]
    #[case::as_stored("Secret/k", false)]
    #[case::other_letters("SECRET/K", false)]
    #[case::rule_s_letters("secret/k", false)]
    #[case::absent("hidden/x", false)]
    #[case::absent_other("HIDDEN/x", false)]
    #[case::granted("src/a", true)]
    #[case::grants_keep_their_letters("SRC/a", false)]
    fn refusals_hold_in_any_letters(#[case] path: &str, #[case] allowed: bool) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("Secret")).unwrap();
        std::fs::write(directory.path().join("Secret/k"), "").unwrap();
        let text = "schemaVersion: 2\nkind: Policy\nmetadata: {name: p}\nspec:\n  fsProfiles: {p: \
                    {read: ['src/**', 'Secret/**', 'hidden/**', 'SECRET/**', '!secret/**', \
                    '!Hidden/**']}}\n";
        let set = PolicySet::new(&PolicyDocument::parse("p", "p", text).unwrap(), None).unwrap();
        let profile = set.profile("p").unwrap();
        let root = directory.path().canonicalize().unwrap();
        let resolver = PathResolver { root, folds: true };
        let looked = resolver.look_up_names(WorkspacePath::new(path).unwrap().names).unwrap();
        assert_eq!(looked.decide(&profile, PolicyOperation::Read).unwrap().allowed, allowed);
    }

    #[test]
    fn a_name_is_found_as_it_is_stored() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("Docs")).unwrap();
        let root = directory.path().canonicalize().unwrap();
        let means = |folds| PathResolver { root: root.clone(), folds }.resolve(&["dOCS", "New"]);
        let inside = |names: [&str; 2]| ResolvedPath::Inside(names.map(Into::into).into());
        assert_eq!(means(true).unwrap(), inside(["Docs", "New"]));
        assert_eq!(means(false).unwrap(), inside(["dOCS", "New"]));
    }

    #[test]
    fn a_name_that_stands_in_two_spellings_is_itself() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["docs", "Docs"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["docs", "Docs"] {
            let resolver = PathResolver { root: root.clone(), folds: true };
            let inside = ResolvedPath::Inside(vec![name.into()]);
            assert_eq!(resolver.resolve(&[name]).unwrap(), inside);
        }
    }

    /// As many links as the kernel follows, and one more.
    #[rstest]
    #[case(40, None)]
    #[case(41, Some(libc::ELOOP))]
    fn links_are_followed_as_the_kernel_does(#[case] count: usize, #[case] error: Option<i32>) {
        let directory = tempfile::tempdir().unwrap();
        for link in 0..count {
            let target = format!("l{}", link + 1);
            std::os::unix::fs::symlink(target, directory.path().join(format!("l{link}"))).unwrap();
        }
        let found = PathResolver::new(directory.path()).unwrap().resolve(&["l0"]);
        assert_eq!(found.as_ref().err().and_then(io::Error::raw_os_error), error);
        let end = ResolvedPath::Inside(vec![format!("l{count}").into()]);
        assert!(found.is_err() || found.unwrap() == end);
    }

    #[test]
    fn a_name_that_no_object_can_have_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let found = PathResolver::new(directory.path()).unwrap().resolve(&["n".repeat(256)]);
        assert_eq!(found.unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    }
}
