//! Directories that exist only to hold something: [`ViewStep::Directory`] for each, before the steps in
//! it. Pure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::ViewStep;

/// `steps` with the directories that lie between each and the fresh directory that it is put into.
pub(super) fn with_directories(steps: Vec<ViewStep>) -> Vec<ViewStep> {
    let mut fresh: HashMap<PathBuf, bool> = HashMap::new();
    let mut whole = Vec::with_capacity(steps.len());
    for step in steps {
        for directory in missing(step.path(), &fresh) {
            fresh.insert(directory.clone(), true);
            whole.push(ViewStep::Directory(directory));
        }
        if matches!(step, ViewStep::Directory(_)) && fresh.contains_key(step.path()) {
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
    let innermost = above().find_map(|directory| Some((directory, *fresh.get(directory)?)));
    let Some((innermost, true)) = innermost else { return Vec::new() };
    let between = above().take_while(|directory| *directory != innermost);
    let mut between: Vec<PathBuf> = between.map(Path::to_owned).collect();
    between.reverse();
    between
}

/// Returns whether directories inside the object of `step` have to be made; `None` if it cannot
/// hold any.
fn is_fresh(step: &ViewStep) -> Option<bool> {
    match step {
        ViewStep::Tmpfs(..) | ViewStep::Dev | ViewStep::Directory(_) => Some(true),
        ViewStep::Bind(_) | ViewStep::BindReadOnly(_) | ViewStep::Proc | ViewStep::HostProc => {
            Some(false)
        }
        ViewStep::MaskFile(_) | ViewStep::MaskSocket(_) | ViewStep::MaskDirectory(_) => None,
        ViewStep::Link(..) | ViewStep::Seal(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_fresh_directories_gets_directories_above_it() {
        let bind = |path: &str| ViewStep::Bind(path.into());
        let directory = |path: &str| ViewStep::Directory(path.into());
        let tmpfs = |path: &str| ViewStep::Tmpfs(path.into(), 0o755);
        let steps = vec![
            bind("/"),
            tmpfs("/run"),
            directory("/run"),
            directory("/run/a"),
            bind("/h/w"),
            bind("/run/a/b/c"),
            ViewStep::Link("/run/a/b/l".into(), "c".into()),
        ];
        let expected = vec![
            bind("/"),
            tmpfs("/run"),
            directory("/run/a"),
            bind("/h/w"),
            directory("/run/a/b"),
            bind("/run/a/b/c"),
            ViewStep::Link("/run/a/b/l".into(), "c".into()),
        ];
        assert_eq!(with_directories(steps), expected);
    }
}
