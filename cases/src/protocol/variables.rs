//! The names of the variables that `env.scrub` removes from an inherited environment.

/// A pattern of variable names; a pattern without a star is a whole name.
///
/// `*A*` is found anywhere, `A*` at the start, `_A_` is a whole word, set apart by `_` or `-` or
/// the ends of the name.
pub type NamePattern = &'static str;

/// Names that look like credentials, or lead to a service that holds some, in upper case: case does
/// not count.
pub const CREDENTIAL_NAMES: [NamePattern; 24] = [
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*PASSCODE*",
    "*API_KEY*",
    "*API-KEY*",
    "*APIKEY*",
    "*ACCESS_KEY*",
    "*PRIVATE_KEY*",
    "*CREDENTIAL*",
    "*BEARER*",
    "*COOKIE*",
    "*WEBHOOK*",
    "_AUTH_",
    "_KEY_",
    "_PAT_",
    "AWS_*",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "PGPASSFILE",
    "NETRC",
];

/// Names by which the loader, shells, interpreters and git run other code than they were asked to.
/// They count as they are written.
///
/// Search paths of interpreters (`PYTHONPATH`, `NODE_PATH`, …) are not among them, nor are programs
/// that are started only when the user asks (`EDITOR`, `PAGER`), nor which repository git works on
/// (`GIT_DIR`, …).
pub const INJECTING_NAMES: [NamePattern; 42] = [
    "LD_*",
    "DYLD_*",
    "GCONV_PATH",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASH_LOADABLES_PATH",
    "BASHOPTS",
    "ENV",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
    "ZDOTDIR",
    "LESSOPEN",
    "LESSCLOSE",
    "NODE_OPTIONS",
    "NODE_REPL_EXTERNAL_MODULE",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONBREAKPOINT",
    "PYTHONINSPECT",
    "PERL5OPT",
    "PERL5DB",
    "RUBYOPT",
    "LUA_INIT*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "DOTNET_STARTUP_HOOKS",
    "GIT_ASKPASS",
    "GIT_CONFIG*",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "SSH_ASKPASS",
];

/// Returns whether `name` looks like a credential.
pub fn names_a_credential(name: &str) -> bool {
    let name = name.to_uppercase();
    CREDENTIAL_NAMES.iter().any(|pattern| matches_name(pattern, &name))
}

/// Returns whether a variable called `name` makes some program run other code.
pub fn names_injected_code(name: &str) -> bool {
    INJECTING_NAMES.iter().any(|pattern| matches_name(pattern, name))
}

/// Returns whether `name` is one that `pattern` means.
pub fn matches_name(pattern: NamePattern, name: &str) -> bool {
    let (start, end) = (pattern.strip_prefix('*'), pattern.strip_suffix('*'));
    match (start.and_then(|rest| rest.strip_suffix('*')), end, underscored_word(pattern)) {
        (Some(part), ..) => name.contains(part),
        (None, Some(start), _) => name.starts_with(start),
        (None, None, Some(word)) => name.split(['_', '-']).any(|found| found == word),
        (None, None, None) => name == pattern,
    }
}

/// Returns the text between two underscores.
fn underscored_word(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('_')?.strip_suffix('_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("FOO_TOKEN", true)]
    #[case("my_secret", true)]
    #[case("DB_PASSWORD", true)]
    #[case("OPENAI_API_KEY", true)]
    #[case("npm_config_auth_token", true)]
    #[case("NPM_CONFIG__AUTH", true)]
    #[case("AUTH", true)]
    #[case("SLACK-PAT", true)]
    #[case("MY_KEY", true)]
    #[case("AWS_REGION", true)]
    #[case("SSH_AUTH_SOCK", true)]
    #[case("GOOGLE_APPLICATION_CREDENTIALS", true)]
    #[case("TOKENIZERS_PARALLELISM", true)]
    #[case("netrc", true)]
    #[case("PATH", false)]
    #[case("KEYBOARD", false)]
    #[case("GIT_AUTHOR_NAME", false)]
    #[case("XAUTHORITY", false)]
    #[case("MY_NETRC_X", false)]
    #[case("LAWS_X", false)]
    fn credentials_are_told_by_name(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(names_a_credential(name), expected);
    }

    #[rstest]
    #[case("LD_PRELOAD", true)]
    #[case("LD_LIBRARY_PATH", true)]
    #[case("BASH_FUNC_ls%%", true)]
    #[case("ENV", true)]
    #[case("LUA_INIT_5_4", true)]
    #[case("_JAVA_OPTIONS", true)]
    #[case("GIT_CONFIG_KEY_0", true)]
    #[case("ld_preload", false)]
    #[case("ENVIRONMENT", false)]
    #[case("MY_ENV", false)]
    #[case("BUILD_LD_FLAGS", false)]
    #[case("PYTHONPATH", false)]
    #[case("GIT_DIR", false)]
    #[case("GIT_AUTHOR_NAME", false)]
    #[case("EDITOR", false)]
    fn injected_code_is_told_by_name(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(names_injected_code(name), expected);
    }

    /// Both tables as the README shows them, between two marks.
    #[test]
    fn the_readme_lists_every_name() {
        let readme = include_str!("../../README.md");
        let shown = |names: &[NamePattern]| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
        };
        let joined = readme.split_whitespace().collect::<Vec<_>>().join(" ");
        for names in [&CREDENTIAL_NAMES[..], &INJECTING_NAMES[..]] {
            assert!(joined.contains(&shown(names)), "cases/README.md lacks: {}", shown(names));
        }
    }
}
