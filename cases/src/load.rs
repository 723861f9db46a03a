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

/// The most bytes of a file: the largest of the corpus has a fiftieth of it.
pub const FILE_LIMIT: u64 = 1 << 20;
/// The most lists and maps within each other; the reader takes ever longer with each.
const NESTING_LIMIT: usize = 64;
/// What some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Refuses a text that is too large to be read, or nested too deeply.
fn check_bounds(file: &Path, text: &str) -> Result<(), LoadError> {
    if text.len() as u64 > FILE_LIMIT {
        let message = format!("more than {FILE_LIMIT} bytes: split it into several files");
        return Err(LoadError::whole(file, message));
    }
    match too_deep(text) {
        Some(line) => {
            let message = format!("more than {NESTING_LIMIT} lists and maps within each other");
            Err(LoadError { line, ..LoadError::whole(file, message) })
        }
        None => Ok(()),
    }
}

/// The line (from 1) on which brackets or list items are nested too deeply, if there is one. A
/// bracket within a text may be taken for a closing one, but never for an opening one.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth: usize = 0;
    for (at, line) in text.lines().enumerate() {
        let mut before = '-';
        for char in line.chars().filter(|char| !char.is_whitespace()) {
            match char {
                '[' | '{' if "[{,:-?".contains(before) => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            before = char;
            if depth > NESTING_LIMIT {
                return Some(at + 1);
            }
        }
        let dashes = line.split(' ').take_while(|word| *word == "-").count();
        if dashes > NESTING_LIMIT {
            return Some(at + 1);
        }
    }
    None
}

/// Reads `text`, one YAML document, as a `T`.
///
/// # Errors
/// The first thing that does not fit, located.
pub fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, LoadError> {
    check_bounds(file, text)?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut track = serde_path_to_error::Track::new();
    let yaml = serde_yaml::Deserializer::from_str(text);
    let tracked = serde_path_to_error::Deserializer::new(yaml, &mut track);
    // `{unchanged: f}` is how people write what YAML itself would want as `!unchanged f`.
    serde_yaml::with::singleton_map_recursive::deserialize(tracked).map_err(|error| {
        let field = track.path().to_string();
        let field = if field == "." { String::new() } else { field };
        let line = line_of_duplicate(text, &field, &error.to_string())
            .or_else(|| error.location().map(|at| at.line()))
            .unwrap_or_else(|| line_of(text, &field));
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

/// The line of the second of two keys where `message` speaks of a duplicate: the next line below
/// `field` that has the key at the same indentation.
fn line_of_duplicate(text: &str, field: &str, message: &str) -> Option<usize> {
    let named = message.split("duplicate field `").nth(1)?;
    let (key, _) = named.split_once('`')?;
    let skipped = if field.is_empty() { 0 } else { line_of(text, field) };
    let has_key = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut keys = text.lines().enumerate().skip(skipped).filter(|(_, line)| has_key(line));
    let (_, first) = keys.next()?;
    let (at, _) = keys.find(|(_, line)| indentation(line) == indentation(first))?;
    Some(at + 1)
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

    #[test]
    fn the_second_of_two_keys_is_located() {
        let top = CASE.replace("expect:", "purpose: Again.\nexpect:");
        let below = CASE.replace("    level: may\n", "    level: may\n    level: must\n");
        for (text, line) in [(top, 4), (below, 10)] {
            let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err();
            assert!(error.message.contains("duplicate"), "{error}");
            assert_eq!(error.line, line, "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_key() {
        let text = format!("\u{feff}{CASE}");
        parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap();
    }

    #[test]
    fn what_is_too_large_or_too_deep_is_refused_at_once() {
        let started = std::time::Instant::now();
        let large = format!("{CASE}#{}", "x".repeat(1 << 20));
        let texts = [
            (large, "more than 1048576 bytes"),
            (format!("a: {}", "[".repeat(50_000)), "within each other"),
            (format!("a: {}", "{a: ".repeat(50_000)), "within each other"),
            (format!("a:\n{}x", "- ".repeat(50_000)), "within each other"),
            ("[\n".repeat(50_000), "within each other"),
        ];
        for (text, message) in texts {
            let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err();
            assert!(error.to_string().starts_with("a.yaml"), "{error}");
            assert!(error.message.contains(message), "{error}");
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
    }
}
