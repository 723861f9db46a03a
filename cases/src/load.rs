//! Reading one YAML text into a type, with errors that name file, line, field and remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// The field, such as `rows.two.expect`; empty when the whole file is meant.
    pub field: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// An error about `field` of the file at `file`, whose text is `text`.
    pub fn at(file: &Path, text: &str, field: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: line_of(text, field),
            field: field.to_owned(),
            message: message.into(),
        }
    }

    /// An error about the whole file.
    pub fn whole(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: 0, field: String::new(), message: message.into() }
    }
}

/// Reads `text`, one YAML document, as a `T`.
///
/// # Errors
/// The first thing that does not fit, located.
pub fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, LoadError> {
    let mut track = serde_path_to_error::Track::new();
    let yaml = serde_yaml::Deserializer::from_str(text);
    let tracked = serde_path_to_error::Deserializer::new(yaml, &mut track);
    // `{unchanged: f}` is how people write what YAML itself would want as `!unchanged f`.
    serde_yaml::with::singleton_map_recursive::deserialize(tracked).map_err(|error| {
        let field = track.path().to_string();
        let field = if field == "." { String::new() } else { field };
        let line = error.location().map_or_else(|| line_of(text, &field), |at| at.line());
        LoadError { file: file.to_owned(), line, message: plain(&error, &field), field }
    })
}

/// Reads a fragment in a test as a file would be read.
#[cfg(test)]
pub(crate) fn fragment<T: DeserializeOwned>(text: &str) -> Result<T, LoadError> {
    parse(Path::new("fragment.yaml"), text)
}

/// The message without the position and path that are told apart from it.
fn plain(error: &serde_yaml::Error, field: &str) -> String {
    let text = error.to_string();
    let text = text.strip_prefix(&format!("{field}: ")).unwrap_or(&text);
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}

/// The line (from 1) on which the last key of `field` stands, found by following its keys down;
/// the line of the deepest key that is found, else 1.
fn line_of(text: &str, field: &str) -> usize {
    let mut line = 0;
    for key in field.split(['.', '[']).filter(|key| !key.is_empty() && !key.ends_with(']')) {
        let below = text.lines().enumerate().skip(line);
        let starts = |text: &str| {
            let text = text.trim_start().trim_start_matches(['-', '{', ' ']);
            text.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        match below.into_iter().find(|(_, text)| starts(text)) {
            Some((at, _)) => line = at,
            None => break,
        }
    }
    line + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CaseFile;

    const CASE: &str = "purpose: Works.\nrequirement: R-x\nact: {sh: 'true'}\nexpect:\n  allowed: {}\nrows:\n  one: {}\n  two:\n    level: may\n";

    #[test]
    fn a_misspelt_key_is_located() {
        let text = CASE.replace("allowed: {}", "alowed: {}");
        let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
        assert!(error.starts_with("a.yaml:5"), "{error}");
        assert!(error.contains("unknown field `alowed`") && error.contains("allowed"), "{error}");
        assert!(error.contains("expect"), "{error}");
    }

    #[test]
    fn keys_are_followed_down_to_their_line() {
        for (field, line) in [("expect", 4), ("rows.two", 8), ("rows.two.level", 9), ("nope", 1)] {
            assert_eq!(line_of(CASE, field), line, "{field}");
        }
    }

    #[test]
    fn broken_yaml_is_located() {
        let error = parse::<CaseFile>(Path::new("a.yaml"), "a: [\n").unwrap_err();
        assert!(error.line > 0);
    }
}
