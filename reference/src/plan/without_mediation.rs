//! A workspace under a profile, for mechanisms that cannot decide about new names: [`narrowed`]. A
//! grant for new names is left out unless it covers all of a directory. Pure.

use std::path::{Path, PathBuf};

use crate::host::{NodeKind, WorkspaceNode, WorkspaceTree};

/// `tree` with names coming to be only in directories that are granted whole, and the directories
/// in which fewer can be made than the profile grants.
pub(crate) fn narrowed(tree: &WorkspaceTree) -> (WorkspaceTree, Vec<PathBuf>) {
    let mut closed = Vec::new();
    let root = node(&tree.root, tree, &mut closed);
    (WorkspaceTree { root, settled: true, ..tree.clone() }, closed)
}

fn node(given: &WorkspaceNode, tree: &WorkspaceTree, closed: &mut Vec<PathBuf>) -> WorkspaceNode {
    let mut node = given.clone();
    if let NodeKind::Directory { open, children } = &mut node.kind {
        let below = node.path.strip_prefix(&tree.root.path).unwrap_or(Path::new(""));
        let granted = node.modify || *open;
        if granted && !(node.modify && tree.law.is_uniform(below)) {
            if node.read {
                closed.push(node.path.clone());
            }
            (node.modify, *open) = (false, false);
        }
        *children = children.iter().map(|child| self::node(child, tree, closed)).collect();
    }
    node
}
