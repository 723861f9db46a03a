//! What may be written and what may not, as the mounts that say it: [`write_rules`]; and what a policy
//! grants and denies at once: [`contradictory`], [`regranted`].

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Mode, Policy, Readable, WirePath};
use serde::Serialize;

/// A path, and whether what lies there may be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct WriteRule {
    path: PathBuf,
    write: bool,
}

/// Returns the roots of `policy`, what it denies, and the `protected` names, outermost first by the
/// places that links lead to: a later rule holds within an earlier one. A root is left out where the
/// rule around it says the same, since a second mount would keep files from moving and linking.
pub(super) fn write_rules(policy: &Policy, protected: Vec<PathBuf>) -> Vec<WriteRule> {
    let roots = match policy.mode {
        Mode::WorkspaceWrite => roots(policy),
        _ => Vec::new(),
    };
    let denied = policy.deny_write.iter().map(|path| path.as_path().to_owned());
    let rule = |write| move |path| WriteRule { path, write };
    let roots = roots.into_iter().map(Path::to_owned).map(rule(true));
    let mut rules: Vec<(PathBuf, WriteRule)> = denied
        .chain(protected)
        .map(rule(false))
        .chain(roots)
        .map(|rule| (place(&rule.path), rule))
        .collect();
    rules.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut kept: Vec<(PathBuf, WriteRule)> = Vec::new();
    for (place, rule) in rules {
        // The last of one place: a grant comes after the denials.
        kept.pop_if(|(same, _)| *same == place);
        let around = kept.iter().rev().find(|(above, _)| place.starts_with(above));
        if !(rule.write && around.is_some_and(|(_, above)| above.write)) {
            kept.push((place, rule));
        }
    }
    kept.into_iter().map(|(_, rule)| rule).collect()
}

/// Returns what a denial names, too, or closes for reading: writable roots, of which the workspace is
/// one, and readable ones.
pub(super) fn contradictory(policy: &Policy) -> Vec<PathBuf> {
    let places = |paths: &[WirePath]| -> Vec<PathBuf> {
        paths.iter().map(|path| place(path.as_path())).collect()
    };
    let (unwritable, unread) = (places(&policy.deny_write), places(&policy.deny_read));
    let workspace = place(policy.workspace.as_path());
    let clashes = |root: &&Path| {
        let root = place(root);
        let closed =
            |above: &PathBuf| root.starts_with(above) && (root != *above || root == workspace);
        unwritable.contains(&root) || unread.iter().any(closed)
    };
    let listed: &[WirePath] = match &policy.readable {
        Readable::All => &[],
        Readable::Only(listed) => listed,
    };
    let listed = listed.iter().map(WirePath::as_path);
    let shut = listed.filter(|root| unread.iter().any(|above| place(root).starts_with(above)));
    roots(policy).into_iter().filter(clashes).chain(shut).map(Path::to_owned).collect()
}

/// Returns the roots within what `policy` denies to write, or within a `protected` name.
pub(super) fn regranted(policy: &Policy, protected: &[PathBuf]) -> Vec<PathBuf> {
    let denied = policy.deny_write.iter().map(WirePath::as_path);
    let denied: Vec<PathBuf> =
        denied.chain(protected.iter().map(PathBuf::as_path)).map(place).collect();
    let within = |root: &&Path| denied.iter().any(|above| place(root).starts_with(above));
    roots(policy).into_iter().filter(within).map(Path::to_owned).collect()
}

fn roots(policy: &Policy) -> Vec<&Path> {
    let further = policy.writable.iter().map(WirePath::as_path);
    [policy.workspace.as_path()].into_iter().chain(further).collect()
}

/// Where links lead to; a name that is not there stays as it is below what is.
fn place(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => place(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rules: &[WriteRule]) -> Vec<String> {
        let sign = |rule: &WriteRule| if rule.write { '+' } else { '-' };
        rules.iter().map(|rule| format!("{}{}", sign(rule), rule.path.display())).collect()
    }

    #[test]
    fn a_later_rule_holds_within_an_earlier_one() {
        let mut policy = Policy::new("/w");
        let paths = |paths: &[&str]| paths.iter().copied().map(WirePath::from).collect();
        policy.writable = paths(&["/o", "/o/wide/odd", "/w/in", "/o"]);
        policy.deny_write = paths(&["/o/wide/odd/sub", "/o/wide"]);
        let rules = write_rules(&policy, vec!["/w/.git".into()]);
        let shown = ["+/o", "-/o/wide", "+/o/wide/odd", "-/o/wide/odd/sub", "+/w", "-/w/.git"];
        assert_eq!(texts(&rules), shown);
        policy.mode = Mode::ReadOnly;
        assert_eq!(texts(&write_rules(&policy, Vec::new())), ["-/o/wide", "-/o/wide/odd/sub"]);
    }

    #[test]
    fn a_root_in_a_denial_is_told_and_one_below_it_is_none() {
        let mut policy = Policy::new("/w");
        let told = |policy: &Policy| contradictory(policy);
        policy.writable = vec![WirePath::from("/o/odd")];
        policy.deny_write = vec![WirePath::from("/o")];
        assert!(told(&policy).is_empty());
        assert_eq!(regranted(&policy, &[]), [PathBuf::from("/o/odd")]);
        policy.deny_write = vec![WirePath::from("/o/odd")];
        assert_eq!(told(&policy), [PathBuf::from("/o/odd")]);
        policy.deny_write.clear();
        policy.readable = Readable::Only(vec![WirePath::from("/o/odd/in")]);
        policy.deny_read = vec![WirePath::from("/o/odd")];
        assert_eq!(told(&policy), [PathBuf::from("/o/odd/in")]);
        policy.readable = Readable::All;
        for (unread, contradicts) in
            [("/o/odd", false), ("/o", true), ("/w", true), ("/w/x", false)]
        {
            policy.deny_read = vec![WirePath::from(unread)];
            assert_eq!(!told(&policy).is_empty(), contradicts, "{unread}");
        }
    }
}
