//! The parameters of a table: where a `${name}` stands, and which have no value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::CaseFile;
use crate::nearest::nearest_name;

/// The keys whose texts may be programs, which have `${name}` of their own.
const PROGRAMS: [&str; 7] = ["act", "during", "fixture", "prepare", "run", "stdin", "steps"];

/// A `${name}` without a value, and the field that it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UndefinedParameter {
    pub(crate) field: String,
    name: String,
}

/// Returns each `${name}` of `case` that `with` has no value for.
pub(super) fn undefined(
    case: &Map<String, Value>,
    with: &BTreeMap<String, String>,
) -> Vec<UndefinedParameter> {
    let of_key = |(key, value): (&String, &Value)| {
        let reader = TextReader { with, is_program: PROGRAMS.contains(&key.as_str()) };
        below(key, reader.undefined(value))
    };
    case.iter().flat_map(of_key).collect()
}

/// Returns `found`, whose fields lie below `key`.
fn below(key: &str, mut found: Vec<UndefinedParameter>) -> Vec<UndefinedParameter> {
    for one in &mut found {
        let dot = if one.field.is_empty() || one.field.starts_with('[') { "" } else { "." };
        one.field = format!("{key}{dot}{}", one.field);
    }
    found
}

struct TextReader<'a> {
    with: &'a BTreeMap<String, String>,
    is_program: bool,
}

impl TextReader<'_> {
    fn undefined(&self, value: &Value) -> Vec<UndefinedParameter> {
        match value {
            Value::String(text) => self.undefined_in(text),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.flat_map(|(at, v)| below(&format!("[{at}]"), self.undefined(v))).collect()
            }
            Value::Object(map) => {
                let of_entry = |(key, value): (&String, &Value)| {
                    let mut found = self.undefined_in(key);
                    found.extend(below(key, self.undefined(value)));
                    found
                };
                map.iter().flat_map(of_entry).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }

    fn undefined_in(&self, text: &str) -> Vec<UndefinedParameter> {
        let is_given = |name: &str| self.with.contains_key(name);
        let is_own = |name: &str| self.is_program && mentions(text, name);
        let is_open = |name: &&str| !is_given(name) && !is_own(name);
        let undefined =
            |name: &str| UndefinedParameter { field: String::new(), name: name.to_owned() };
        names(text).filter(is_open).map(undefined).collect()
    }
}

/// Returns the names that `${…}` of `text` have, as far as they are such as parameters have.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let named = text.match_indices("${").filter_map(|(at, _)| text[at + 2..].split_once('}'));
    named.map(|(name, _)| name).filter(move |name| {
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(is_part)
    })
}

/// Returns whether the program `text` speaks of `name` outside `${name}`: where it sets it.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        is_whole && !(before.ends_with("${") && after.starts_with('}'))
    })
}

impl UndefinedParameter {
    /// The fault, in `row` of `file`.
    pub(crate) fn fault(&self, row: Option<&str>, parameters: &BTreeSet<String>) -> String {
        let name = &self.name;
        let near = nearest_name(name, parameters.iter().map(String::as_str));
        match (row, near) {
            (Some(row), Some(near)) if near == name => {
                format!("`${{{name}}}` has no value in row {row}: add {name} to its `with`")
            }
            (Some(_), Some(near)) => {
                format!("`${{{name}}}` has no value: did you mean `${{{near}}}`?")
            }
            (Some(_), None) => format!(
                "`${{{name}}}` has no value: give it one in the `with` of each row; a variable of \
                 the shell is `${name}`"
            ),
            (None, _) => format!(
                "`${{{name}}}` has no value, as the case has no rows: give it rows; a variable of \
                 the shell is `${name}`"
            ),
        }
    }
}

impl CaseFile {
    /// Returns the names of all parameters, of whichever row.
    pub(crate) fn parameters(&self) -> BTreeSet<String> {
        self.rows.values().flat_map(|row| row.with.keys().cloned()).collect()
    }
}
