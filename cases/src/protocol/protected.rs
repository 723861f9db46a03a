//! The names that `protect: metadata` protects.

/// Names directly below the workspace and each writable root that a later, unconfined tool would
/// execute or obey: repositories, configuration of coding tools and editors, shell start-up files,
/// per-directory settings of common tools.
pub const PROTECTED_NAMES: [&str; 24] = [
    ".git",
    ".gitmodules",
    ".gitconfig",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".inferoa",
    ".caliban",
    ".orbit",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".ripgreprc",
    ".envrc",
];
