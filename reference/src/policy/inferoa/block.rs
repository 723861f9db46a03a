//! The block's values, each one of those it can have; anything else is an error.

use boxproof_cases::protocol::{BlockBackend, BlockMode, BlockNetwork};
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde_saphyr::Spanned;

use super::document::{ConfigError, ConfigSource, SpannedText, place};

/// A block, every key with its value or default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxBlock {
    /// The file that it is from.
    pub(crate) file: String,
    /// The mode of confinement.
    pub(crate) mode: BlockMode,
    /// The mechanism.
    pub(crate) backend: BlockBackend,
    /// The network.
    pub(crate) network: BlockNetwork,
    /// Nothing runs where no mechanism confines.
    pub(crate) fail_closed: bool,
    pub(super) extra: Vec<SpannedText>,
    /// Variables that are kept.
    pub(crate) env: Vec<String>,
}

/// The names of modes in `/sandbox`, which differ from those of the file.
const SPOKEN: [(&str, &str); 9] = [
    ("readonly", "read_only"),
    ("workspace", "workspace_write"),
    ("workspacewrite", "workspace_write"),
    ("on", "enabled"),
    ("enable", "enabled"),
    ("disable", "restricted"),
    ("disabled", "restricted"),
    ("seatbelt", "macos_seatbelt"),
    ("bubblewrap", "linux_bubblewrap"),
];

impl SandboxBlock {
    /// Parses the block of the file that is called `name`.
    ///
    /// # Errors
    /// The error, its place, and the remedy. No part of the file is used then.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let source = ConfigSource::new(name, text);
        let raw = source.block()?;
        let modes = ["off", "read_only", "workspace_write"];
        let backends = ["auto", "macos_seatbelt", "linux_bubblewrap", "none"];
        Ok(Self {
            file: name.to_owned(),
            mode: parse_keyword(&source, "mode", raw.mode, &modes)?,
            backend: parse_keyword(&source, "backend", raw.backend, &backends)?,
            network: parse_keyword(&source, "network", raw.network, &["restricted", "enabled"])?,
            fail_closed: truth(&source, "fail_if_unavailable", raw.fail_if_unavailable)?,
            extra: list(&source, "extra_writable_roots", raw.extra_writable_roots)?,
            env: names(&source, list(&source, "env_passthrough", raw.env_passthrough)?)?,
        })
    }
}

fn written(value: Option<Spanned<Option<String>>>) -> Option<SpannedText> {
    let value = value?;
    let place = place(&value);
    Some(SpannedText { text: value.value?, place })
}

fn parse_keyword<T: Default + DeserializeOwned>(
    source: &ConfigSource<'_>,
    key: &str,
    value: Option<Spanned<Option<String>>>,
    known: &[&str],
) -> Result<T, ConfigError> {
    let Some(SpannedText { text, place }) = written(value) else { return Ok(T::default()) };
    let word: StrDeserializer<'_, Error> = text.as_str().into_deserializer();
    T::deserialize(word).map_err(|_| {
        let plain: String =
            text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        let same = |known: &&&str| known.replace('_', "") == plain;
        let meant = SPOKEN.iter().find(|(said, means)| *said == plain && known.contains(means));
        let meant = known.iter().find(same).copied().or(meant.map(|(_, means)| *means));
        let meant = meant.map(|word| format!("; write `{word}`")).unwrap_or_default();
        let known = known.join(", ");
        source
            .fault(place, format!("sandbox.{key}: {text:?} is unknown, use one of {known}{meant}"))
    })
}

/// Words that other readers take for truth values, and quoted ones, are no values.
fn truth(
    source: &ConfigSource<'_>,
    key: &str,
    value: Option<Spanned<Option<String>>>,
) -> Result<bool, ConfigError> {
    let Some(SpannedText { text, place }) = written(value) else { return Ok(true) };
    match (text.as_str(), source.is_quoted(place)) {
        ("true", true) | ("false", true) if fault!("dialects.quoted-truth") => Ok(text == "true"),
        ("true", false) => Ok(true),
        ("false", false) => Ok(false),
        _ => Err(source.fault(
            place,
            format!(
                "sandbox.{key}: {text:?} is no truth value; write true or false, without quotes"
            ),
        )),
    }
}

fn list(
    source: &ConfigSource<'_>,
    key: &str,
    list: Option<Vec<Spanned<Option<String>>>>,
) -> Result<Vec<SpannedText>, ConfigError> {
    let item = |item: Spanned<Option<String>>| {
        let at = place(&item);
        let text = item.value.filter(|text| !text.trim().is_empty());
        let empty = || source.fault(at, format!("sandbox.{key}: an empty entry; remove it"));
        text.map(|text| SpannedText { text, place: at }).ok_or_else(empty)
    };
    list.unwrap_or_default().into_iter().map(item).collect()
}

fn names(source: &ConfigSource<'_>, list: Vec<SpannedText>) -> Result<Vec<String>, ConfigError> {
    let mut names: Vec<String> = Vec::new();
    for SpannedText { text, place } in list {
        let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if fault!("dialects.any-variable-name") {
            names.push(text);
            continue;
        }
        if !text.chars().all(plain) || text.starts_with(|c: char| c.is_ascii_digit()) {
            let why = format!(
                "sandbox.env_passthrough: {text:?} is no variable name; patterns and values are not \
                 taken, so name each variable"
            );
            return Err(source.fault(place, why));
        }
        if !names.contains(&text) {
            names.push(text);
        }
    }
    Ok(names)
}
