//! Reading one YAML text into a type, with errors that name file, line, field and remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::nearest::nearest_name;
use crate::pointer::{point_at, variable_field};

/// An error in a file, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The column, from 1; 0 where only the line is known.
    pub column: usize,
    /// The field, such as `rows.two.expect`; empty for the whole file.
    pub field: String,
    /// The problem and its remedy.
    pub message: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
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
            column: 0,
            field: field.to_owned(),
            message: message.into(),
        }
    }

    /// Returns the error with its column, and with the line of the word that it is about, in a file
    /// whose text is `text`.
    #[must_use]
    pub fn pointed(self, text: &str) -> Self {
        if self.column > 0 {
            return self;
        }
        let (line, column) = point_at(text, (self.line, &self.field), &self.message);
        let field = match variable_field(text, line, &self.message) {
            Some(field) => field.to_owned(),
            None => self.field,
        };
        Self { line, column, field, ..self }
    }

    /// An error about the whole file.
    pub fn whole(file: &Path, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            field: String::new(),
            message: message.into(),
        }
    }
}

/// The most bytes of a file: the largest of the corpus has a fiftieth of it.
pub const FILE_LIMIT: u64 = 1 << 20;
/// The most lists and maps within each other; the reader takes ever longer with each.
const NESTING_LIMIT: usize = 64;
/// The byte order mark that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Refuses a text that is too large to be read, or nested too deeply.
fn check_bounds(file: &Path, text: &str) -> Result<(), LoadError> {
    if text.len() as u64 > FILE_LIMIT {
        let message = format!("more than {FILE_LIMIT} bytes: split it into several files");
        return Err(LoadError::whole(file, message));
    }
    // Every second byte of a text in UTF-16 is such a one.
    if let Some(at) = text.find('\0') {
        let line = 1 + text[..at].matches('\n').count();
        let message = "a NUL byte: write the file in UTF-8, and NUL as an escape";
        return Err(LoadError { line, ..LoadError::whole(file, message) });
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
    let text = without_mark(text);
    // A map keeps the last of two equal keys without a word; a value of any kind refuses them.
    read(text, |yaml| serde_yaml::Value::deserialize(yaml).map(drop))
        .and_then(|()| read_keyed(text))
        .map_err(|(error, field)| located(file, text, &error, error.location(), &field))
}

/// A value in JSON as a `T`, by the rules of a file: no list stands for an object.
///
/// # Errors
/// What does not fit.
pub(crate) fn reread<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, String> {
    read_keyed(&value.to_string()).map_err(|(error, _)| plain(&error, ""))
}

/// A reader of YAML that tracks its position.
type TrackingReader<'a, 'b> =
    serde_path_to_error::Deserializer<'a, 'b, serde_yaml::Deserializer<'a>>;

/// Reads `text` by `how`; an error with the field it was met in.
fn read<'a, T>(
    text: &'a str,
    how: impl FnOnce(TrackingReader<'a, '_>) -> Result<T, serde_yaml::Error>,
) -> Result<T, (serde_yaml::Error, String)> {
    let mut track = serde_path_to_error::Track::new();
    let yaml = serde_yaml::Deserializer::from_str(text);
    let read = how(serde_path_to_error::Deserializer::new(yaml, &mut track));
    read.map_err(|error| {
        let field = track.path().to_string();
        (error, if field == "." { String::new() } else { field })
    })
}

/// Reads `text` as case files write variants: `{unchanged: f}` in place of YAML's own `!unchanged f`.
/// All that is read goes through here, as each other reader has an instance of every type.
fn read_keyed<T: DeserializeOwned>(text: &str) -> Result<T, (serde_yaml::Error, String)> {
    read(text, |yaml| serde_yaml::with::singleton_map_recursive::deserialize(yaml))
}

fn located(
    file: &Path,
    text: &str,
    error: &serde_yaml::Error,
    at: Option<serde_yaml::Location>,
    field: &str,
) -> LoadError {
    let message = plain(error, field);
    let line = line_of_duplicate(text, field, &message)
        .or_else(|| line_of_second_document(text, &message))
        .or_else(|| {
            let line = at.as_ref().map(serde_yaml::Location::line);
            line.filter(|line| is_within(text, field, *line))
        })
        .unwrap_or_else(|| line_of(text, field));
    // Of syntax the position is known, and no field.
    let column = at.filter(|at| field.contains('?') && at.line() == line);
    let column = column.map_or(0, |at| at.column());
    let field = field.trim_end_matches(['.', '?']).to_owned();
    LoadError { file: file.to_owned(), line, column, message, field }
}

/// Returns `text` without the byte order mark at its beginning.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Reads `value`, a part or a change of what `text` says, as a `T`.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_value<T: DeserializeOwned>(
    file: &Path,
    text: &str,
    value: &serde_yaml::Value,
) -> Result<T, LoadError> {
    // The position in a text of its own says nothing about `text`.
    let fault = |(error, field): (serde_yaml::Error, String)| {
        located(file, without_mark(text), &error, None, &field)
    };
    let written = serde_yaml::to_string(value).map_err(|error| fault((error, String::new())))?;
    read_keyed(&written).map_err(fault)
}

/// Reads a fragment in a test as a file would be read.
#[cfg(test)]
pub(crate) fn fragment<T: DeserializeOwned>(text: &str) -> Result<T, LoadError> {
    parse(Path::new("fragment.yaml"), text)
}

/// Returns the message without the position and path, which are reported separately.
fn plain(error: &serde_yaml::Error, field: &str) -> String {
    let whole = error.to_string();
    let text = whole.as_str();
    let list = field.split('[').next().unwrap_or_default();
    let text = [field, list].iter().find_map(|path| text.strip_prefix(&format!("{path}: ")));
    let text = text.unwrap_or(&whole);
    // A message about syntax goes on after the position.
    let text = &match text.rsplit_once(" at line ") {
        Some((before, after)) => match after.split_once(", ") {
            Some((_, rest)) => format!("{before}, {rest}"),
            None => before.to_owned(),
        },
        None => text.to_owned(),
    };
    if let Some(key) = text.strip_prefix("duplicate entry with key ") {
        return format!("{DUPLICATE} `{}`: keep one of the two", key.trim_matches('"'));
    }
    if let Some(key) = text.strip_prefix("duplicate field ") {
        return format!("{DUPLICATE} {key}: keep one of the two");
    }
    match text.contains("more than one document") {
        true => SECOND_DOCUMENT.to_owned(),
        false => {
            let text = match text.split_once("expected struct ") {
                Some((before, _)) => match before.strip_suffix("invalid type: sequence, ") {
                    Some(path) => format!("{path}expected a map, and this is a list"),
                    None => format!("{before}expected a map"),
                },
                None => text.to_owned(),
            };
            too_large(&text).unwrap_or_else(|| with_suggestion(text))
        }
    }
}

/// Returns the message about a number that no field takes, if `message` is about one.
fn too_large(message: &str) -> Option<String> {
    let number = message.strip_prefix("invalid type: integer `")?;
    let (number, _) = number.split_once("` as u128").or_else(|| number.split_once("` as i128"))?;
    Some(format!("`{number}` is too large a number: 64 bits are the most"))
}

/// Returns the message about an unknown name with the name that was probably meant in place of all
/// that there are.
fn with_suggestion(message: String) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown =
        message.starts_with("unknown field `") || message.starts_with("unknown variant `");
    let near = names.next().filter(|_| unknown).and_then(|name| nearest_name(name, names));
    match (near, message.split_once("`, expected")) {
        (Some(near), Some((before, _))) => format!("{before}`: did you mean `{near}`?"),
        _ => message,
    }
}

/// The beginning of the message about a key that occurs twice.
const DUPLICATE: &str = "duplicate key";
/// The message about a file with several documents.
const SECOND_DOCUMENT: &str = "a second document begins here: give it a file of its own";

/// Returns the line (from 1) at which a second document begins, if `message` reports one.
fn line_of_second_document(text: &str, message: &str) -> Option<usize> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| line.starts_with("---"));
    let second = lines.find(|(at, _)| text.lines().take(*at).any(is_content));
    second.filter(|_| message == SECOND_DOCUMENT).map(|(at, _)| at + 1)
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#') && !line.starts_with("---")
}

/// Returns whether `line` is not above the top-level key that `field` begins with. An error raised
/// by one of this crate's own types carries the position of the enclosing map.
fn is_within(text: &str, field: &str, line: usize) -> bool {
    let top = field.split(['.', '[']).next().unwrap_or_default();
    top.is_empty() || line >= line_of(text, top)
}

/// The line (from 1) on which the last key of `field` stands, found by following its keys down;
/// the line of the deepest key that is found, else 1.
pub(crate) fn line_of(text: &str, field: &str) -> usize {
    let mut line = 0;
    let mut above = None;
    for key in field.split(['.', '[']).filter(|key| !key.is_empty() && !key.ends_with(']')) {
        let below = text.lines().enumerate().skip(line);
        let mut part = below.take_while(|(at, text)| *at == line || is_part(text, above));
        let starts = |text: &str| {
            let text = text.trim_start().trim_start_matches(['-', '{', ' ']);
            text.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        match part.find(|(_, text)| starts(text)) {
            Some((at, text)) => (line, above) = (at, Some(indentation(text))),
            None => break,
        }
    }
    line + 1
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns whether `line` belongs to the key above it that is indented by `above`.
fn is_part(line: &str, above: Option<usize>) -> bool {
    let text = line.trim_start();
    let is_inside = |above| indentation(line) > above || text.starts_with(['-', '}', ']']);
    text.is_empty() || text.starts_with('#') || above.is_none_or(is_inside)
}

/// Returns the line of the second of two keys if `message` reports a duplicate: the next line below
/// `field` that has the key at the same indentation.
fn line_of_duplicate(text: &str, field: &str, message: &str) -> Option<usize> {
    let named = message.strip_prefix(DUPLICATE)?.strip_prefix(" `")?;
    let (key, _) = named.split_once("`: ")?;
    let skipped = if field.is_empty() { 0 } else { line_of(text, field) };
    let has_key = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        let rest = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']));
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
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
        let fields = [
            ("expect", 4),
            ("rows.two", 8),
            ("rows.two.level", 9),
            ("nope", 1),
            // A key of that name stands in another map.
            ("act.two", 3),
            ("rows.one.level", 7),
        ];
        for (field, line) in fields {
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
    fn a_key_of_a_map_is_there_once() {
        let text = CASE.replace("  two:", "  one: {}\n  two:");
        let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
        assert_eq!(error, "a.yaml:8: rows: duplicate key `one`: keep one of the two");
        let text = format!("{CASE}fixture: {{a: x, b: y, a: z}}\n");
        let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
        assert_eq!(error, "a.yaml:10: fixture: duplicate key `a`: keep one of the two");
    }

    #[test]
    fn a_file_is_one_document() {
        parse::<CaseFile>(Path::new("a.yaml"), &format!("# one\n---\n{CASE}")).unwrap();
        let text = format!("{CASE}---\n{CASE}");
        let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
        assert_eq!(error, format!("a.yaml:10: {SECOND_DOCUMENT}"));
    }

    /// Neither where YAML is read, nor where JSON is in between, a list is an object by its places.
    #[test]
    fn no_list_stands_for_a_map() {
        let lines = [
            "launcher: []",
            "launcher: {tty: []}",
            "run: [300]",
            "policy: {env: []}",
            "twin: {env: []}",
            "during: [[ready, 0, TERM]]",
        ];
        for line in lines {
            let text = format!("{CASE}{line}\n");
            let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err();
            assert!(
                error.message.contains("expected a map, and this is a list"),
                "{line}: {error}"
            );
            assert_eq!(error.line, 10, "{line}: {error}");
        }
    }

    #[test]
    fn no_message_names_a_type_of_ours_that_is_chosen_by_its_content() {
        let lines = [
            ("stdin: []", "what is read is a text"),
            ("launcher: {hosts: {a.test: x}}", "a name leads to an address"),
            ("policy: {readable: [{b46: x}]}", "a path is a string"),
            ("policy: {network: {proxy: {port: []}}}", "a port is a number"),
        ];
        for (line, message) in lines {
            let text = format!("{CASE}{line}\n");
            let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
            assert!(error.contains(message) && error.starts_with("a.yaml:10: "), "{error}");
        }
        let text = CASE.replace("allowed: {}", "answer: {denied: {}}");
        let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
        assert!(error.contains("a decision is the rule that made it"), "{error}");
    }

    #[test]
    fn a_number_that_is_too_large_is_told_with_its_range() {
        for number in ["99999999999999999999", "-99999999999999999999"] {
            let text = format!("{CASE}timeout_ms: {number}\n");
            let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err().to_string();
            assert!(error.starts_with("a.yaml:10: timeout_ms: "), "{error}");
            assert!(error.contains(&format!("`{number}` is too large a number")), "{error}");
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
            (CASE.replace(':', "\0:"), "a NUL byte: write the file in UTF-8"),
        ];
        for (text, message) in texts {
            let error = parse::<CaseFile>(Path::new("a.yaml"), &text).unwrap_err();
            assert!(error.to_string().starts_with("a.yaml"), "{error}");
            assert!(error.message.contains(message), "{error}");
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
    }
}
