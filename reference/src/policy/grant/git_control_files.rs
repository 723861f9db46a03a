//! The names in a git directory that steer git: they determine what a later git, outside, runs or
//! takes for the repository. The grant for history leaves them closed.

use std::path::Path;

/// The names. A lock is how git replaces the file.
pub(crate) const STEERS: [&str; 14] = [
    "hooks",
    "config",
    "config.lock",
    "config.worktree",
    "config.worktree.lock",
    "commondir",
    "gitdir",
    "remotes",
    "branches",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
];

/// Returns whether `below`, relative to a git directory, steers git: in that directory, or in the
/// directory of a submodule or of a linked worktree.
pub(crate) fn steers(below: &Path) -> bool {
    let named = |path: &Path| STEERS.iter().any(|name| path.starts_with(name));
    let inner = ["modules", "worktrees"].iter().any(|directory| below.starts_with(directory));
    let mut rest = below.components();
    let mut inners = std::iter::from_fn(|| rest.next().map(|_| rest.as_path()));
    named(below) || inner && inners.any(named)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("hooks", true)]
    #[case("hooks/pre-commit", true)]
    #[case("config", true)]
    #[case("configs", false)]
    #[case("index.lock", false)]
    #[case("info", false)]
    #[case("info/attributes", true)]
    #[case("refs/heads/config", false)]
    #[case("modules/a/b/hooks/x", true)]
    #[case("modules/a/HEAD", false)]
    #[case("worktrees/w/gitdir", true)]
    #[case("worktrees/w/index", false)]
    #[case("", false)]
    fn names(#[case] below: &str, #[case] steers: bool) {
        assert_eq!(super::steers(std::path::Path::new(below)), steers);
    }
}
