//! Files and directories that a line names: whether they are in a git directory, judged by their
//! spelling. Links are not followed; the grant is bounded by paths, not by this check.

use std::path::{Component, Path};

use super::classify::LineContext;
use super::word::ShellWord;

/// Returns whether `path` is a directory of the workspace, and no git directory.
pub(super) fn within(context: &LineContext<'_>, path: &str) -> bool {
    let path = Path::new(path);
    let below = match path.is_absolute() {
        true => path.strip_prefix(context.workspace).ok(),
        false => Some(path),
    };
    let up = |path: &Path| {
        path.components().any(|part| part == Component::ParentDir) && !fault!("grants.upwards")
    };
    below.is_some_and(|below| !up(below) && !is_git(below))
}

/// Notes that the line enters `directory`; returns whether that lies in the workspace.
pub(super) fn enter(context: &LineContext<'_>, directory: &str) -> bool {
    context.entered.borrow_mut().push(directory.into());
    within(context, directory)
}

/// Checks that writing to `file` leaves repositories alone.
pub(super) fn written(file: &ShellWord) -> Result<(), String> {
    match file.known() {
        Some("") | None => Err("which file is written to is not known".to_owned()),
        Some(path) if is_git(Path::new(path)) => Err(format!("{path} is in a git directory")),
        Some(_) => Ok(()),
    }
}

/// Returns whether a component of `path` is, on some file system, the name of a git directory.
fn is_git(path: &Path) -> bool {
    path.components().any(|part| {
        let Component::Normal(name) = part else { return false };
        if fault!("grants.spelled-git") {
            return name == ".git";
        }
        let plain: String = name.to_string_lossy().chars().filter(char::is_ascii).collect();
        let plain = plain.trim_end_matches(['.', ' ']).to_ascii_lowercase();
        plain.ends_with(".git") || plain.starts_with("git~")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::cell::RefCell;

    #[rstest]
    #[case("sub", true)]
    #[case("/w/sub", true)]
    #[case("/w", true)]
    #[case(".", true)]
    #[case("..", false)]
    #[case("a/../../x", false)]
    #[case("/wide", false)]
    #[case("/", false)]
    #[case(".git", false)]
    #[case("/w/sub/.git/hooks", false)]
    #[case(".GIT", false)]
    #[case("bare.git", false)]
    #[case(".g\u{200c}it", false)]
    #[case(".github", true)]
    fn directories_of_the_workspace(#[case] path: &str, #[case] within: bool) {
        let context = LineContext {
            workspace: Path::new("/w"),
            cwd: Path::new("/w"),
            entered: RefCell::default(),
        };
        assert_eq!(super::within(&context, path), within);
    }
}
