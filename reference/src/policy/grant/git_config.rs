//! Settings that a line gives to git (`-c KEY=VALUE`): which of them run nothing and move nothing.

use super::assignments::IDLE;

/// Any value does.
const FREE: [&str; 22] = [
    "author.email",
    "author.name",
    "committer.email",
    "committer.name",
    "core.abbrev",
    "core.quotepath",
    "diff.algorithm",
    "diff.noprefix",
    "diff.renames",
    "init.defaultbranch",
    "log.date",
    "log.decorate",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renames",
    "rebase.autosquash",
    "rebase.autostash",
    "status.short",
    "status.showuntrackedfiles",
    "user.email",
    "user.name",
    "user.useconfigonly",
];
/// Settings that only sign or check signatures, safe when switched off.
const OFF: [&str; 5] = [
    "commit.gpgsign",
    "log.showsignature",
    "merge.verifysignatures",
    "rebase.gpgsign",
    "tag.gpgsign",
];
/// Programs that git runs.
const RUN: [&str; 3] = ["core.editor", "core.pager", "sequence.editor"];

/// Returns whether `setting` runs nothing and moves nothing.
pub(super) fn is_kind(setting: &str) -> bool {
    if fault!("grants.settings") {
        return true;
    }
    let Some((key, value)) = setting.split_once('=') else { return false };
    let key = key.to_ascii_lowercase();
    let section = |name: &str| key.starts_with(name);
    FREE.contains(&key.as_str())
        || section("advice.")
        || section("color.")
        || OFF.contains(&key.as_str()) && value.eq_ignore_ascii_case("false")
        || RUN.contains(&key.as_str()) && IDLE.contains(&value)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("user.name=a", true)]
    #[case("User.Name=a", true)]
    #[case("commit.gpgsign=false", true)]
    #[case("commit.gpgsign=true", false)]
    #[case("commit.gpgsign", false)]
    #[case("core.editor=true", true)]
    #[case("core.editor=vi", false)]
    #[case("core.hooksPath=x", false)]
    #[case("core.hooksPath=/dev/null", false)]
    #[case("core.fsmonitor=./x", false)]
    #[case("core.worktree=/", false)]
    #[case("core.sshCommand=x", false)]
    #[case("alias.commit=!x", false)]
    #[case("filter.x.clean=x", false)]
    #[case("diff.external=x", false)]
    #[case("gpg.program=x", false)]
    #[case("include.path=x", false)]
    #[case("credential.helper=!x", false)]
    #[case("merge.x.driver=x", false)]
    #[case("advice.detachedHead=false", true)]
    fn settings(#[case] setting: &str, #[case] kind: bool) {
        assert_eq!(super::is_kind(setting), kind);
    }
}
