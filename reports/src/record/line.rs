//! One line of a record: a JSON object whose member `type` names what it is ([`RecordLine`]).
//!
//! Parsing names the member at fault and refuses repeated and unknown members at every depth,
//! which serde's own tagged enums do not do.

use std::fmt::{self, Write};
use std::marker::PhantomData;

use boxproof_cases::protocol::ObjectsOnly;
use memchr::memmem;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess};
use serde::{Deserialize, Serialize};

use super::{CaseRow, Footer, Header};
use crate::unsafe_characters::{is_unsafe, may_be_unsafe};

/// One line of a run record, as it is written.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum RecordLine<'a> {
    /// The first line.
    Header(&'a Header),
    /// Every line between.
    Case(&'a CaseRow),
    /// The last line.
    Footer(&'a Footer),
}

impl RecordLine<'_> {
    /// The line's bytes, newline included.
    pub(super) fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        Ok((without_commands(serde_json::to_string(self)?) + "\n").into_bytes())
    }
}

/// JSON in which escapes stand for what a terminal or a CI runner (`##[`) would obey. Those occur
/// within strings only, where they mean the same.
fn without_commands(json: String) -> String {
    // Most rows have none, and a run writes thousands. JSON escapes the low control characters itself.
    if !may_be_unsafe(json.as_bytes()) && memmem::find(json.as_bytes(), b"##").is_none() {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    let mut last = ' ';
    for c in json.chars() {
        if is_unsafe(c) || (c, last) == ('#', '#') {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
        last = c;
    }
    out
}

/// The error within one line.
pub(super) enum LineError {
    NotJson(String),
    Field { field: String, message: String },
}

/// The line's `type`.
pub(super) fn type_of(line: &[u8]) -> Result<String, LineError> {
    #[derive(Deserialize)]
    struct LineTag {
        r#type: String,
    }
    lenient(line).map(|tag: LineTag| tag.r#type)
}

/// Reads the header's `format`, independent of any further members of a newer format.
pub(super) fn format_of(line: &[u8]) -> Result<u32, LineError> {
    #[derive(Deserialize)]
    struct FormatVersion {
        format: u32,
    }
    lenient(line).map(|header: FormatVersion| header.format)
}

fn lenient<T: DeserializeOwned>(line: &[u8]) -> Result<T, LineError> {
    located(&mut serde_json::Deserializer::from_slice(line), |de| {
        serde_path_to_error::deserialize(ObjectsOnly(de))
    })
}

/// The line as a `T`, every member accounted for.
pub(super) fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, LineError> {
    located(&mut serde_json::Deserializer::from_slice(line), |de| {
        serde_path_to_error::deserialize::<_, Untagged<T>>(ObjectsOnly(de)).map(|body| body.0)
    })
}

type JsonLine<'a> = serde_json::Deserializer<serde_json::de::SliceRead<'a>>;

fn located<'a, T>(
    de: &mut JsonLine<'a>,
    parse: impl FnOnce(&mut JsonLine<'a>) -> Result<T, serde_path_to_error::Error<serde_json::Error>>,
) -> Result<T, LineError> {
    let value = parse(de).map_err(|error| fault(&error.path().to_string(), error.inner()))?;
    de.end().map_err(|error| LineError::NotJson(error.to_string()))?;
    Ok(value)
}

fn fault(path: &str, error: &serde_json::Error) -> LineError {
    if error.classify() == serde_json::error::Category::Data {
        let full = error.to_string();
        let message = full.split(" at line ").next().unwrap_or(&full).to_owned();
        LineError::Field { field: path.to_owned(), message }
    } else {
        LineError::NotJson(error.to_string())
    }
}

/// A `T` read from an object that has a `type` besides.
struct Untagged<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Untagged<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Visitor(PhantomData)).map(Untagged)
    }
}

struct Visitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(WithoutType(map)))
    }
}

/// A map without its `type`; [`type_of`] has seen that there is exactly one.
struct WithoutType<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutType<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.0.next_key::<String>()? {
            if key != "type" {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            self.0.next_value::<serde::de::IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}
