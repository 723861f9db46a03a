//! The place of a session's profile file on macOS. Pure.

use boxproof_cases::protocol::SourcePrecedence;

use super::expand::PathVariables;

/// A file in directories below one that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProfilePath {
    /// The directory that is there.
    pub base: String,
    /// Directories below it, each in the one before.
    pub directories: &'static [&'static str],
    /// The file's name.
    pub name: String,
}

impl SessionProfilePath {
    /// Returns the place for `session` under `reading`. Under [`SourcePrecedence::Head`] a program takes a
    /// new name each time, which `*` stands for.
    pub fn for_session(
        reading: SourcePrecedence,
        variables: &PathVariables,
        session: &str,
    ) -> Self {
        let directory = |name: &str| variables.get(name).filter(|path| path.starts_with('/'));
        match (reading, directory("XDG_RUNTIME_DIR")) {
            (SourcePrecedence::Adr, Some(runtime)) => Self {
                base: runtime.to_owned(),
                directories: &["caliban", "sandbox"],
                name: format!("{session}.sb"),
            },
            (SourcePrecedence::Adr, None) => Self::beside("/tmp", session),
            (SourcePrecedence::Head, _) => Self::beside(directory("TMPDIR").unwrap_or("/tmp"), "*"),
        }
    }

    fn beside(base: &str, name: &str) -> Self {
        Self { base: base.to_owned(), directories: &[], name: format!("caliban-sandbox-{name}.sb") }
    }

    /// Returns the place as a path.
    pub fn path(&self) -> String {
        let names = self.directories.iter().copied().chain([self.name.as_str()]);
        names.fold(self.base.clone(), |path, name| format!("{path}/{name}"))
    }
}

/// Returns the reason why `session` is no file name, if it is none.
pub fn no_name(session: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !session.is_empty() && session.len() <= 64 && session.chars().all(plain);
    (!is_name).then(|| {
        format!(
            "session: {session:?} names no file; use up to 64 letters, digits, `-`, `_` and `.`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::runtime(SourcePrecedence::Adr, &[("XDG_RUNTIME_DIR", "/r")], "/r/caliban/sandbox/s1.sb")]
    #[case::relative(SourcePrecedence::Adr, &[("XDG_RUNTIME_DIR", "r")], "/tmp/caliban-sandbox-s1.sb")]
    #[case::none(SourcePrecedence::Adr, &[], "/tmp/caliban-sandbox-s1.sb")]
    #[case::head(SourcePrecedence::Head, &[("XDG_RUNTIME_DIR", "/r"), ("TMPDIR", "/t")], "/t/caliban-sandbox-*.sb")]
    fn a_session_has_its_place(
        #[case] reading: SourcePrecedence,
        #[case] set: &[(&str, &str)],
        #[case] path: &str,
    ) {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(
            SessionProfilePath::for_session(reading, &PathVariables::new("/w", set), "s1").path(),
            path
        );
    }

    #[rstest]
    #[case("s1", true)]
    #[case("0f-9_a.b", true)]
    #[case("", false)]
    #[case("../s1", false)]
    #[case("a/b", false)]
    #[case("*", false)]
    fn a_session_is_a_name(#[case] session: &str, #[case] good: bool) {
        assert_eq!(no_name(session).is_none(), good);
    }
}
