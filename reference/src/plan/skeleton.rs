//! Directories that exist only to hold something: [`Step::Folder`] for each, before the steps in
//! it. Pure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Step;

/// `steps` with the directories that lie between each and the fresh directory that it is put into.
pub(super) fn with_folders(steps: Vec<Step>) -> Vec<Step> {
    let mut fresh: HashMap<PathBuf, bool> = HashMap::new();
    let mut whole = Vec::with_capacity(steps.len());
    for step in steps {
        for folder in missing(step.path(), &fresh) {
            fresh.insert(folder.clone(), true);
            whole.push(Step::Folder(folder));
        }
        if matches!(step, Step::Folder(_)) && fresh.contains_key(step.path()) {
            continue;
        }
        if let Some(is_fresh) = is_fresh(&step) {
            fresh.insert(step.path().to_owned(), is_fresh);
        }
        whole.push(step);
    }
    whole
}

/// The directories above `path` that nothing has made yet, outermost first.
fn missing(path: &Path, fresh: &HashMap<PathBuf, bool>) -> Vec<PathBuf> {
    let above = || path.ancestors().skip(1);
    let innermost = above().find_map(|folder| Some((folder, *fresh.get(folder)?)));
    let Some((innermost, true)) = innermost else { return Vec::new() };
    let between = above().take_while(|folder| *folder != innermost);
    let mut between: Vec<PathBuf> = between.map(Path::to_owned).collect();
    between.reverse();
    between
}

/// Returns whether directories inside the object of `step` have to be made; `None` if it cannot
/// hold any.
fn is_fresh(step: &Step) -> Option<bool> {
    match step {
        Step::Tmpfs(..) | Step::Dev | Step::Folder(_) => Some(true),
        Step::Bind(_) | Step::BindReadOnly(_) | Step::Proc | Step::HostProc => Some(false),
        Step::MaskFile(_) | Step::MaskSocket(_) | Step::MaskFolder(_) => None,
        Step::Link(..) | Step::Seal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_fresh_folders_gets_folders_above_it() {
        let bind = |path: &str| Step::Bind(path.into());
        let folder = |path: &str| Step::Folder(path.into());
        let tmpfs = |path: &str| Step::Tmpfs(path.into(), 0o755);
        let steps = vec![
            bind("/"),
            tmpfs("/run"),
            folder("/run"),
            folder("/run/a"),
            bind("/h/w"),
            bind("/run/a/b/c"),
            Step::Link("/run/a/b/l".into(), "c".into()),
        ];
        let expected = vec![
            bind("/"),
            tmpfs("/run"),
            folder("/run/a"),
            bind("/h/w"),
            folder("/run/a/b"),
            bind("/run/a/b/c"),
            Step::Link("/run/a/b/l".into(), "c".into()),
        ];
        assert_eq!(with_folders(steps), expected);
    }
}
