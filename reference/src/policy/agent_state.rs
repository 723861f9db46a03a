//! The places of coding agents' state: by their variables, else below the home ([`AgentState`]).
//! Pure.

/// An agent's variable, and its directory below the home where the variable is not set.
const AGENTS: [(Option<&str>, &str); 4] = [
    (Some("CODEX_HOME"), ".codex"),
    (Some("CLAUDE_CONFIG_DIR"), ".claude"),
    (None, ".gemini"),
    (Some("GROK_HOME"), ".grok"),
];
/// The directory below the home that every agent writes to.
const LOGS: &str = ".orbit/state/logs";

/// The places, absolute and not the root: that would grant everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AgentState {
    /// The home.
    pub(crate) home: Option<String>,
    /// Directories.
    pub(crate) directories: Vec<String>,
    /// A file, beside which others of its name are made.
    pub(crate) file: Option<String>,
}

impl AgentState {
    /// Reads the state's places from the variables that `value` returns. An empty value counts as
    /// none; a relative one names no directory, so that it grants nothing.
    pub(crate) fn from_variables(value: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| value(name).filter(|text| !text.is_empty());
        let home = value("HOME").filter(|home| is_directory(home));
        let below =
            |name: &str| home.as_ref().map(|home| format!("{}/{name}", home.trim_end_matches('/')));
        let mut directories: Vec<String> = below(LOGS).into_iter().collect();
        for (variable, directory) in AGENTS {
            directories.extend(match variable.and_then(value) {
                Some(place) => is_directory(&place).then(|| place.trim_end_matches('/').to_owned()),
                None => below(directory),
            });
        }
        let file = below(".claude.json").filter(|_| value("CLAUDE_CONFIG_DIR").is_none());
        Self { home, directories, file }
    }

    /// Every place of it.
    pub(crate) fn places(&self) -> impl Iterator<Item = &String> {
        self.directories.iter().chain(&self.file)
    }
}

/// An absolute path without dots, and not the root.
fn is_directory(path: &str) -> bool {
    let names = path.strip_prefix('/').map(|rest| rest.trim_end_matches('/'));
    names.is_some_and(|names| names.split('/').all(|name| !matches!(name, "" | "." | "..")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn state(variables: &[(&str, &str)]) -> AgentState {
        AgentState::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn places_are_those_of_the_variables_or_below_the_home() {
        let placed = state(&[("HOME", "/h/"), ("CODEX_HOME", "/c/x/"), ("GROK_HOME", "")]);
        assert_eq!(placed.home.as_deref(), Some("/h/"));
        let wanted = ["/h/.orbit/state/logs", "/c/x", "/h/.claude", "/h/.gemini", "/h/.grok"];
        assert_eq!(placed.directories, wanted);
        assert_eq!(placed.file.as_deref(), Some("/h/.claude.json"));
        let moved = state(&[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")]);
        assert_eq!(moved.file, None);
    }

    #[rstest]
    #[case("/")]
    #[case("h")]
    #[case("/h/../x")]
    #[case("/h/./x")]
    #[case("/h//x")]
    #[case("")]
    fn what_is_no_directory_grants_nothing(#[case] home: &str) {
        assert_eq!(state(&[("HOME", home)]), AgentState::default());
        assert_eq!(state(&[("CODEX_HOME", home)]), AgentState::default());
    }
}
