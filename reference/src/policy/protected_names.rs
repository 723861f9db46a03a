//! The protected names: data only.

use crate::policy::{GIT_CONFIG_GRANT, GIT_GRANT};

/// One name that steers tools, protected directly below the workspace and each writable root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProtectedName {
    /// The file name.
    pub(crate) name: &'static str,
    /// It belongs to git: a file of this name points to the real directory.
    pub(crate) git: bool,
}

impl ProtectedName {
    /// Returns whether one of `grants` reopens this name entirely.
    pub(crate) fn granted_by(&self, grants: &[String]) -> bool {
        self.git && grants.iter().any(|grant| grant == GIT_CONFIG_GRANT)
    }

    /// Returns whether one of `grants` opens the paths below this name, except those that steer
    /// git.
    pub(crate) fn history_granted_by(&self, grants: &[String]) -> bool {
        self.git && grants.iter().any(|grant| grant == GIT_GRANT)
    }
}

const fn other(name: &'static str) -> ProtectedName {
    ProtectedName { name, git: false }
}

/// Names that a later, unconfined tool would execute or obey: repositories, configuration of coding
/// tools and editors, shell start-up files, and per-directory settings of common tools.
pub(crate) const PROTECTED: [ProtectedName; 24] = [
    ProtectedName { name: ".git", git: true },
    other(".gitmodules"),
    other(".gitconfig"),
    other(".agents"),
    other(".claude"),
    other(".codex"),
    other(".cursor"),
    other(".gemini"),
    other(".inferoa"),
    other(".caliban"),
    other(".orbit"),
    other(".mcp.json"),
    other(".vscode"),
    other(".idea"),
    other(".bashrc"),
    other(".bash_profile"),
    other(".bash_login"),
    other(".profile"),
    other(".zshrc"),
    other(".zshenv"),
    other(".zprofile"),
    other(".zlogin"),
    other(".ripgreprc"),
    other(".envrc"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_s_name_is_opened_by_its_grants_and_no_other_is() {
        let by = |name: &ProtectedName, grant: &str| {
            let grants = ["x".to_owned(), grant.to_owned()];
            (name.granted_by(&grants), name.history_granted_by(&grants))
        };
        let [git, modules, ..] = &PROTECTED;
        assert_eq!(by(git, GIT_CONFIG_GRANT), (true, false));
        assert_eq!(by(git, GIT_GRANT), (false, true));
        assert_eq!(by(git, "y"), (false, false));
        assert_eq!(by(modules, GIT_CONFIG_GRANT), (false, false));
        assert_eq!(by(modules, GIT_GRANT), (false, false));
    }
}
