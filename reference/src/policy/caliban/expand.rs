//! Variables in paths: `${NAME}` is expanded once, and the result must be an absolute path.

use std::collections::BTreeMap;

use super::error::SettingsError;
use crate::policy::orbit::SourceLocation;

/// Names that a path may have, `WORKSPACE` first.
const NAMES: [&str; 6] =
    ["WORKSPACE", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TMPDIR"];

/// The values of the variables, by name.
#[derive(Debug, Clone, Default)]
pub struct PathVariables(BTreeMap<String, String>);

impl PathVariables {
    /// Collects the variables of `session`, and the workspace. Names that paths cannot use are
    /// harmless.
    pub fn new(workspace: &str, session: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut all: BTreeMap<String, String> = session.into_iter().collect();
        all.insert("WORKSPACE".to_owned(), workspace.to_owned());
        Self(all)
    }

    /// Any variable of the session, as far as it says something.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The path that is written `text` in `field` at `place`.
    ///
    /// # Errors
    /// A variable that is unknown or undefined, a `${` without end, a pattern, a relative path.
    pub(super) fn path(
        &self,
        field: &str,
        text: &str,
        place: &SourceLocation,
    ) -> Result<String, SettingsError> {
        let fault = |why: String| {
            SettingsError::config(format!("{field}: {text:?} {why}"), Some(place.clone()))
        };
        if text.contains('\0') {
            return Err(fault("has a NUL, which no path has; take it out".to_owned()));
        }
        if text.contains(['*', '?']) {
            return Err(fault(
                "is a pattern, and patterns are not read; name each path".to_owned(),
            ));
        }
        let path = self.replaced(text).map_err(fault)?;
        match path.starts_with('/') {
            true => Ok(path),
            false => Err(fault(
                "is not absolute; start it with / or with ${WORKSPACE}, ${HOME} or ${TMPDIR}"
                    .to_owned(),
            )),
        }
    }

    fn replaced(&self, text: &str) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let byte = text.len() - rest.len() + at;
            let (before, from) = (&rest[..at], &rest[at + 2..]);
            let end = from
                .find('}')
                .ok_or_else(|| format!("has ${{ at byte {byte} and no }} after it"))?;
            done.push_str(before);
            done.push_str(self.value(&from[..end])?);
            rest = &from[end + 1..];
        }
        done.push_str(rest);
        Ok(done)
    }

    fn value(&self, name: &str) -> Result<&str, String> {
        if !NAMES.contains(&name) {
            let known = NAMES.map(|name| format!("${{{name}}}")).join(" ");
            return Err(format!("has the unknown variable ${{{name}}}; known: {known}"));
        }
        self.get(name).ok_or_else(|| {
            format!("has ${{{name}}}, which is undefined; set it or write the path out")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn path(text: &str) -> Result<String, SettingsError> {
        let session = [("HOME", "/h"), ("TMPDIR", "tmp"), ("XDG_DATA_HOME", ""), ("NOPE", "/n")];
        let session = session.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let place = SourceLocation { file: "s.toml".into(), line: 3, column: 5 };
        PathVariables::new("/w/${HOME}", session).path("filesystem.allow_write", text, &place)
    }

    #[rstest]
    #[case("/a b/ü", "/a b/ü")]
    #[case("${HOME}/x", "/h/x")]
    #[case("/x${HOME}${HOME}", "/x/h/h")]
    #[case::once("${WORKSPACE}", "/w/${HOME}")]
    #[case::bare("/a/$HOME", "/a/$HOME")]
    fn paths_are_expanded_once(#[case] text: &str, #[case] expanded: &str) {
        assert_eq!(path(text).unwrap(), expanded);
    }

    #[rstest]
    #[case("rel", "not absolute")]
    #[case("~/x", "not absolute")]
    #[case("", "not absolute")]
    #[case("${TMPDIR}/x", "not absolute")]
    #[case("${XDG_CACHE_HOME}", "undefined")]
    #[case::empty("${XDG_DATA_HOME}", "undefined")]
    #[case("${NOPE}", "unknown variable ${NOPE}; known: ${WORKSPACE}")]
    #[case("${HOME:-/x}", "unknown variable")]
    #[case("/aü/${HOME", "at byte 5 ")]
    #[case("/a/*.env", "is a pattern")]
    #[case("/a\0", "has a NUL")]
    fn what_names_no_place_is_told(#[case] text: &str, #[case] why: &str) {
        let error = path(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(error.starts_with("s.toml:3:5: invalid sandbox config: filesystem.allow_write: "));
    }
}
