//! A workspace under a profile ([`Tree`]): its entries, and the operations that the profile allows
//! on each. Directories with one decision for all entries are not read.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{fold, paths};
use crate::law::{Law, Op};
use crate::sys;

/// The kind of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A directory, and whether the profile allows names to be created directly in it.
    Folder { open: bool, children: Vec<Node> },
    /// A file or device.
    File,
    /// A socket of the host.
    Socket,
    /// A symbolic link: its target, and whether the target can be read and modified.
    Link { says: PathBuf, reads: bool, modifies: bool },
}

/// An existing object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// It can be read.
    pub(crate) read: bool,
    /// It can be modified.
    pub(crate) modify: bool,
    /// Its kind.
    pub(crate) kind: Kind,
}

/// A workspace under a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The workspace's directory.
    pub(crate) root: Node,
    /// The profile.
    pub(crate) law: Arc<Law>,
    /// A directory that could not be read.
    pub(crate) closed: Option<PathBuf>,
    /// A directory that ignores case, although the profile is case-sensitive.
    pub(crate) folds: Option<PathBuf>,
    /// No name can appear later that the profile would have to decide about.
    pub(crate) settled: bool,
}

/// Examines the directory `root`, a real path.
pub(super) fn observe(root: &Path, law: &Arc<Law>) -> Tree {
    let folds = fold::folds(root).then(|| root.to_owned());
    let mut walk = Walk { root, law, closed: None, folds };
    let root = walk.folder(root.to_owned());
    Tree { root, law: Arc::clone(law), closed: walk.closed, folds: walk.folds, settled: false }
}

struct Walk<'a> {
    root: &'a Path,
    law: &'a Law,
    closed: Option<PathBuf>,
    folds: Option<PathBuf>,
}

impl Walk<'_> {
    fn allows(&self, op: Op, path: &Path) -> bool {
        path.strip_prefix(self.root).is_ok_and(|below| self.law.allows(op, below))
    }

    fn node(&self, path: PathBuf, kind: Kind) -> Node {
        let (read, modify) = (self.allows(Op::Read, &path), self.allows(Op::Modify, &path));
        Node { path, read, modify, kind }
    }

    fn folder(&mut self, path: PathBuf) -> Node {
        let below = path.strip_prefix(self.root).unwrap_or(Path::new(""));
        let uniform = self.law.is_uniform(below);
        // In a uniform directory one answer holds for all entries, so that they are not read.
        let open = self.law.is_open(below) && (!uniform || self.allows(Op::Modify, &path));
        let children = if uniform { Vec::new() } else { self.children(&path) };
        self.node(path, Kind::Folder { open, children })
    }

    fn children(&mut self, folder: &Path) -> Vec<Node> {
        if sys::ignores_case(folder) {
            self.folds = Some(folder.to_owned());
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.closed = Some(folder.to_owned());
                }
                return Vec::new();
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().filter_map(|path| self.child(path)).collect()
    }

    /// Reads the object at `path`; none if it was removed meanwhile.
    fn child(&mut self, path: PathBuf) -> Option<Node> {
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        Some(match () {
            () if kind.is_dir() => self.folder(path),
            () if kind.is_symlink() => {
                let says = fs::read_link(&path).ok()?;
                let leads = |op| self.leads(&path, op);
                let kind = Kind::Link { says, reads: leads(Op::Read), modifies: leads(Op::Modify) };
                self.node(path, kind)
            }
            () if kind.is_socket() => self.node(path, Kind::Socket),
            () => self.node(path, Kind::File),
        })
    }

    /// Returns whether the link at `path` leads to an object in the workspace on which `op` is
    /// allowed.
    fn leads(&self, path: &Path, op: Op) -> bool {
        paths::find(path).is_some_and(|found| self.allows(op, &found.real))
    }
}
