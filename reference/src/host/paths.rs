//! Real paths: follows links one by one and remembers where each stood ([`ExistingPath`]).

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use super::{fold, reachability};

/// Links followed before a path counts as a loop (the kernel's own limit).
const MAX_LINKS: usize = 40;

/// An existing object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExistingPath {
    /// Its path without links, `.`, `..` or repeated slashes.
    pub(crate) real: PathBuf,
    /// It is a directory.
    pub(crate) directory: bool,
    /// It is a device file, which opens nothing on the mounts of a sandbox.
    pub(crate) device: bool,
    /// Locations of the links that led there (real paths), in order.
    pub(crate) links: Vec<PathBuf>,
    /// This user can reach it without capabilities. The command has none; neither has, in such a
    /// directory, the helper that would mount something there.
    pub(crate) reachable: bool,
}

impl ExistingPath {
    /// Describes the object at `real`, a path without links.
    pub(super) fn at(real: PathBuf, directory: bool, links: Vec<PathBuf>) -> Self {
        let reachable = reachability::is_reachable(&real);
        let device = fs::symlink_metadata(&real).is_ok_and(|found| is_device(&found));
        Self { real, directory, device, links, reachable }
    }
}

fn is_device(found: &fs::Metadata) -> bool {
    found.file_type().is_char_device() || found.file_type().is_block_device()
}

/// A path where nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingPath {
    /// The path, real as far as it exists, then as it was named.
    pub(crate) real: PathBuf,
    /// Locations of the links that led there (real paths), in order.
    pub(crate) links: Vec<PathBuf>,
    /// The volume ignores case.
    pub(crate) folds: bool,
}

/// Finds many paths, each directory that holds some of them once.
#[derive(Default)]
pub(super) struct PathFinder {
    directories: HashMap<PathBuf, Option<ResolvedDirectory>>,
}

/// A named directory, with links resolved.
#[derive(Clone)]
struct ResolvedDirectory {
    real: PathBuf,
    links: Vec<PathBuf>,
    /// Objects directly in it are reachable.
    reachable: bool,
}

impl PathFinder {
    /// Finds the object at `path`, and returns both, if it exists.
    pub(super) fn entry(&mut self, path: &Path) -> Option<(PathBuf, ExistingPath)> {
        self.find(path).map(|found| (path.to_owned(), found))
    }

    /// Finds the object as [`find`] does, with the parent cached.
    fn find(&mut self, path: &Path) -> Option<ExistingPath> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return find(path);
        };
        if !self.directories.contains_key(parent) {
            self.directories.insert(parent.to_owned(), ResolvedDirectory::at(parent));
        }
        let directory = self.directories.get(parent)?.as_ref()?;
        let real = directory.real.join(name);
        let kind = fs::symlink_metadata(&real).ok()?;
        if kind.is_symlink() {
            return find(path);
        }
        let links = directory.links.clone();
        let (is_directory, device) = (kind.is_dir(), is_device(&kind));
        let reachable = directory.reachable;
        Some(ExistingPath { real, directory: is_directory, device, links, reachable })
    }
}

impl ResolvedDirectory {
    fn at(path: &Path) -> Option<Self> {
        let ExistingPath { real, directory, links, .. } = find(path)?;
        let reachable = reachability::is_reachable(&real.join("any"));
        directory.then_some(Self { real, links, reachable })
    }
}

/// A link, or a directory outside the real path, that a path leads through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathPassage {
    /// A symbolic link: its own path (real), and its target.
    Link(PathBuf, PathBuf),
    /// A directory that `..` leaves again (real path).
    Directory(PathBuf),
}

/// Resolves `path` (absolute) to its object; `None` if it does not exist, or cannot be reached.
pub(super) fn find(path: &Path) -> Option<ExistingPath> {
    let (real, way) = walk(path)?;
    let directory = fs::symlink_metadata(&real).ok()?.is_dir();
    let link = |passage| match passage {
        PathPassage::Link(at, _) => Some(at),
        PathPassage::Directory(_) => None,
    };
    Some(ExistingPath::at(real, directory, way.into_iter().filter_map(link).collect()))
}

/// Returns the real path of `path` (absolute), and the passages on the way, in order.
pub(super) fn walk(path: &Path) -> Option<(PathBuf, Vec<PathPassage>)> {
    let mut ahead: VecDeque<OsString> = parts(path);
    let mut real = PathBuf::from("/");
    let (mut way, mut links) = (Vec::new(), 0);
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            way.push(PathPassage::Directory(real.clone()));
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::symlink_metadata(&next).ok()? {
            found if found.is_symlink() => {
                let target = fs::read_link(&next).ok()?;
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                follow(&target, &mut real, &mut ahead);
                way.push(PathPassage::Link(next, target));
            }
            _ => real = next,
        }
    }
    Some((real, way))
}

/// Returns the location of the missing `path` (absolute); `None` if it exists or cannot be
/// resolved, as behind a `..` that leaves nothing.
pub(super) fn missing(path: &Path) -> Option<MissingPath> {
    let mut ahead: VecDeque<OsString> = parts(path);
    let (mut real, mut links, mut exists) = (PathBuf::from("/"), Vec::new(), None);
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            if exists.is_some() {
                return None;
            }
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&next).ok()?;
                links.push(next);
                if links.len() > MAX_LINKS {
                    return None;
                }
                follow(&target, &mut real, &mut ahead);
                continue;
            }
            Ok(_) => {}
            Err(error) if is_absence(&error) => exists = exists.or_else(|| Some(real.clone())),
            Err(_) => return None,
        }
        real = next;
    }
    let folds = fold::folds(&exists?);
    Some(MissingPath { real, links, folds })
}

/// Returns whether nothing is at `path`: not where it cannot be looked at.
pub(super) fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_absence(&error))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn follow(target: &Path, real: &mut PathBuf, ahead: &mut VecDeque<OsString>) {
    if target.is_absolute() {
        *real = PathBuf::from("/");
    }
    for part in parts(target).into_iter().rev() {
        ahead.push_front(part);
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let kept = |part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_missing_is_no_way_to_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::write(root.join("f"), "").unwrap();
        let real = |path: &str| missing(&root.join(path)).map(|missing| missing.real);
        assert_eq!(real("none/f"), Some(root.join("none/f")));
        assert_eq!(real("none/../f"), None);
    }

    #[rstest]
    #[case::plain("d/f", Some("d/f"), &[])]
    #[case::dots("d/../d//./f", Some("d/f"), &[])]
    #[case::link("l/f", Some("d/f"), &["l"])]
    #[case::dots_after_link("l/../f2", Some("f2"), &["l"])]
    #[case::chain("l2", Some("d"), &["l2", "l"])]
    #[case::loop_("o", None, &[])]
    #[case::dangling("g", None, &[])]
    #[case::absent("x", None, &[])]
    fn links_are_followed(#[case] path: &str, #[case] real: Option<&str>, #[case] links: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/f"), "").unwrap();
        fs::write(root.join("f2"), "").unwrap();
        symlink("d", root.join("l")).unwrap();
        symlink(root.join("l"), root.join("l2")).unwrap();
        symlink("o", root.join("o")).unwrap();
        symlink("nothing", root.join("g")).unwrap();
        let found = find(&root.join(path));
        assert_eq!(PathFinder::default().find(&root.join(path)), found);
        assert_eq!(found.as_ref().map(|f| f.real.clone()), real.map(|r| root.join(r)));
        let expected: Vec<_> = links.iter().map(|link| root.join(link)).collect();
        assert_eq!(found.map(|f| f.links).unwrap_or_default(), expected);
    }
}
