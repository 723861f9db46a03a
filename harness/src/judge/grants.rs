//! Grants of a case's policy at a path: whether the act may write there, and whether the path is a
//! name that a backend may have to hold.

use boxproof_cases::Case;
use boxproof_cases::case::PolicySpec;
use boxproof_cases::protocol::{Mode, PROTECTED_NAMES};

use super::entry::{is_in, tree_path};

/// Returns whether the act may write below `path` of a tree.
pub(super) fn may_write(case: &Case, path: &str) -> bool {
    case.steps.iter().any(|step| grants(&step.policy, path))
}

fn grants(policy: &PolicySpec, path: &str) -> bool {
    if policy.orbit.is_some() || policy.caliban.is_some() || policy.inferoa.is_some() {
        // Rules in another language: their grants lie in the directories that are compared.
        return true;
    }
    let mode = policy.mode.unwrap_or_default();
    let roots = policy.writable.iter().flatten().map(|root| tree_path(root));
    let mut roots = roots.chain(["$WS".to_owned()]);
    mode == Mode::Unconfined || mode == Mode::WorkspaceWrite && roots.any(|root| is_in(path, &root))
}

/// Returns whether `path` is a protected name, one that the policy denies, or a directory above
/// such a one: a place where a backend has a placeholder.
pub(super) fn is_held(case: &Case, path: &str) -> bool {
    let protected = path.split('/').any(|name| PROTECTED_NAMES.contains(&name));
    protected || case.steps.iter().any(|step| denies(&step.policy, path))
}

fn denies(policy: &PolicySpec, path: &str) -> bool {
    let lists = [&policy.deny_write, &policy.deny_read];
    let mut denied = lists.into_iter().flatten().flatten().map(|path| tree_path(path));
    denied.any(|denied| is_in(&denied, path) || is_in(path, &denied))
}
