//! The configuration file: the place of the block, and of each value in it.

use std::fmt;

use serde::de::{self, DeserializeOwned, IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use crate::error::clipped;
use crate::policy::yaml_document;

/// Keys that mean nothing outside the block.
const OWN: [&str; 3] = ["fail_if_unavailable", "extra_writable_roots", "env_passthrough"];

/// An error in a file, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// The file.
    pub(crate) file: String,
    /// Line and column, from 1, where they are known.
    pub(crate) place: Option<(u32, u32)>,
    /// One sentence.
    pub(crate) message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, message } = self;
        match place {
            Some((line, column)) => write!(f, "{file}:{line}:{column}: {message}"),
            None => write!(f, "{file}: {message}"),
        }
    }
}

/// A text and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpannedText {
    pub(super) text: String,
    pub(super) place: (u32, u32),
}

/// A list as it is written; an empty item is none.
type SpannedList = Option<Vec<Spanned<Option<String>>>>;

/// The block as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBlock {
    pub(super) mode: Option<Spanned<Option<String>>>,
    pub(super) backend: Option<Spanned<Option<String>>>,
    pub(super) network: Option<Spanned<Option<String>>>,
    pub(super) fail_if_unavailable: Option<Spanned<Option<String>>>,
    pub(super) extra_writable_roots: SpannedList,
    pub(super) env_passthrough: SpannedList,
}

/// The keys of the file.
struct ConfigKeys(Vec<Spanned<String>>);

impl<'de> Deserialize<'de> for ConfigKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConfigKeysVisitor;
        impl<'de> de::Visitor<'de> for ConfigKeysVisitor {
            type Value = ConfigKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys with values, one of them `sandbox`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConfigKeys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, _)) = map.next_entry::<Spanned<String>, IgnoredAny>()? {
                    keys.push(key);
                }
                Ok(ConfigKeys(keys))
            }
        }
        deserializer.deserialize_map(ConfigKeysVisitor)
    }
}

/// A file's text and name.
pub(super) struct ConfigSource<'a> {
    pub(super) name: &'a str,
    text: &'a str,
}

impl<'a> ConfigSource<'a> {
    pub(super) fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text }
    }

    /// The block, empty if there is none.
    pub(super) fn block(&self) -> Result<RawBlock, ConfigError> {
        self.keys()?;
        #[derive(Deserialize)]
        struct SandboxSection {
            #[serde(default)]
            sandbox: Option<RawBlock>,
        }
        let only: SandboxSection = self.read()?;
        Ok(only.sandbox.unwrap_or_default())
    }

    /// Checks the keys of the file. Foreign keys are ignored, except a misspelled name of the
    /// block, which would be lost silently.
    fn keys(&self) -> Result<(), ConfigError> {
        let ConfigKeys(keys) = self.read()?;
        for key in keys {
            let place = place(&key);
            let plain: String = key
                .value
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect::<String>()
                .to_lowercase();
            if key.value != "sandbox" && ["sandbox", "sandboxes", "sandboxing"].contains(&&*plain) {
                let why = format!("`{}` is not read; write `sandbox`", key.value);
                return Err(self.fault(place, why));
            }
            if OWN.contains(&&*key.value) {
                let why =
                    format!("`{}` stands outside the block; put it below `sandbox`", key.value);
                return Err(self.fault(place, why));
            }
        }
        Ok(())
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        yaml_document::read(self.text, "{mode: workspace_write}").map_err(|fault| ConfigError {
            file: self.name.to_owned(),
            place: fault.place.map(|(line, column)| (line as u32, column as u32)),
            message: clipped(&fault.message),
        })
    }

    pub(super) fn fault(&self, place: (u32, u32), message: impl Into<String>) -> ConfigError {
        let message = clipped(&message.into());
        ConfigError { file: self.name.to_owned(), place: Some(place), message }
    }

    /// Returns whether the value at `place` is in quotes.
    pub(super) fn is_quoted(&self, (line, column): (u32, u32)) -> bool {
        let line = self.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
        line.chars().nth(column.saturating_sub(1) as usize).is_some_and(|c| c == '"' || c == '\'')
    }
}

/// Returns the place of `spanned`, line and column.
pub(super) fn place<T>(spanned: &Spanned<T>) -> (u32, u32) {
    let at = &spanned.referenced;
    (at.line() as u32, at.column() as u32)
}
