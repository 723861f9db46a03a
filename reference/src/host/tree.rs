//! A workspace under a profile ([`WorkspaceTree`]): its entries, and the operations that the profile allows
//! on each. Directories with one decision for all entries are not read.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{fold, paths};
use crate::policy::path_rules::{PathAccess, PathRules};
use crate::sys;

/// The kind of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A directory, and whether the profile allows names to be created directly in it.
    Directory { open: bool, children: Vec<WorkspaceNode> },
    /// A file or device.
    File,
    /// A socket of the host.
    Socket,
    /// A symbolic link: its target, and whether the target can be read and modified.
    Link { says: PathBuf, reads: bool, modifies: bool },
}

/// An existing object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceNode {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// It can be read.
    pub(crate) read: bool,
    /// It can be modified.
    pub(crate) modify: bool,
    /// Its kind.
    pub(crate) kind: NodeKind,
}

/// A workspace under a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceTree {
    /// The workspace's directory.
    pub(crate) root: WorkspaceNode,
    /// The profile.
    pub(crate) law: Arc<PathRules>,
    /// A directory that could not be read.
    pub(crate) closed: Option<PathBuf>,
    /// A directory that ignores case, although the profile is case-sensitive.
    pub(crate) folds: Option<PathBuf>,
    /// No name can appear later that the profile would have to decide about.
    pub(crate) settled: bool,
}

/// Examines the directory `root`, a real path.
pub(super) fn observe(root: &Path, law: &Arc<PathRules>) -> WorkspaceTree {
    let folds = fold::folds(root).then(|| root.to_owned());
    let mut walk = WorkspaceWalk { root, law, closed: None, folds };
    let root = walk.directory(root.to_owned());
    WorkspaceTree {
        root,
        law: Arc::clone(law),
        closed: walk.closed,
        folds: walk.folds,
        settled: false,
    }
}

struct WorkspaceWalk<'a> {
    root: &'a Path,
    law: &'a PathRules,
    closed: Option<PathBuf>,
    folds: Option<PathBuf>,
}

impl WorkspaceWalk<'_> {
    fn allows(&self, op: PathAccess, path: &Path) -> bool {
        path.strip_prefix(self.root).is_ok_and(|below| self.law.allows(op, below))
    }

    fn node(&self, path: PathBuf, kind: NodeKind) -> WorkspaceNode {
        let (read, modify) =
            (self.allows(PathAccess::Read, &path), self.allows(PathAccess::Modify, &path));
        WorkspaceNode { path, read, modify, kind }
    }

    fn directory(&mut self, path: PathBuf) -> WorkspaceNode {
        let below = path.strip_prefix(self.root).unwrap_or(Path::new(""));
        let uniform = self.law.is_uniform(below);
        // In a uniform directory one answer holds for all entries, so that they are not read.
        let open = self.law.is_open(below) && (!uniform || self.allows(PathAccess::Modify, &path));
        let children = if uniform { Vec::new() } else { self.children(&path) };
        self.node(path, NodeKind::Directory { open, children })
    }

    fn children(&mut self, directory: &Path) -> Vec<WorkspaceNode> {
        if sys::ignores_case(directory) {
            self.folds = Some(directory.to_owned());
        }
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.closed = Some(directory.to_owned());
                }
                return Vec::new();
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().filter_map(|path| self.child(path)).collect()
    }

    /// Reads the object at `path`; none if it was removed meanwhile.
    fn child(&mut self, path: PathBuf) -> Option<WorkspaceNode> {
        let kind = fs::symlink_metadata(&path).ok()?.file_type();
        Some(match () {
            () if kind.is_dir() => self.directory(path),
            () if kind.is_symlink() => {
                let says = fs::read_link(&path).ok()?;
                let leads = |op| self.leads(&path, op);
                let kind = NodeKind::Link {
                    says,
                    reads: leads(PathAccess::Read),
                    modifies: leads(PathAccess::Modify),
                };
                self.node(path, kind)
            }
            () if kind.is_socket() => self.node(path, NodeKind::Socket),
            () => self.node(path, NodeKind::File),
        })
    }

    /// Returns whether the link at `path` leads to an object in the workspace on which `op` is
    /// allowed.
    fn leads(&self, path: &Path, op: PathAccess) -> bool {
        paths::find(path).is_some_and(|found| self.allows(op, &found.real))
    }
}
