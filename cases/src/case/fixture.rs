//! Fixtures: the files that the harness lays out before a run.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One thing to lay out at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureEntry {
    /// The kind of entry.
    pub kind: EntryKind,
    /// The permission bits; by default 0644 for files and 0755 for directories.
    pub mode: Option<u32>,
}

/// Set-user-id and set-group-id.
const BECOMES: u32 = 0o6000;

impl FixtureEntry {
    /// Returns whether executing the file changes the user or group: its set-user-ID or
    /// set-group-ID bit is set.
    pub fn becomes_another(&self) -> bool {
        self.mode.is_some_and(|mode| mode & BECOMES != 0)
    }
}

/// The kind of a fixture entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file with this text.
    File(String),
    /// A directory.
    Dir,
    /// A symbolic link to this target, taken as written.
    Link(String),
    /// A hard link to this other path.
    Hardlink(String),
    /// A named pipe.
    Fifo,
    /// An empty git repository (its `.git` below this path), no git needed.
    Git,
}

/// The long form of an entry.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenEntry {
    /// A file with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// A directory.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bare")]
    #[schemars(with = "Option<super::NoSettings>")]
    dir: Option<super::NoSettings>,
    /// A symbolic link to this target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// A hard link to this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hardlink: Option<String>,
    /// A named pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fifo: Option<super::NoSettings>,
    /// An empty git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git: Option<super::NoSettings>,
    /// Permission bits in four octal digits, as text: "0755"; with `host: [root]` also "4755".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
}

/// Reads the empty value of `dir`; other properties of a directory are keys beside it.
fn bare<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<super::NoSettings>, D::Error> {
    let members =
        std::collections::BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
    match members.keys().next() {
        None => Ok(Some(super::NoSettings {})),
        Some(name) => Err(de::Error::custom(format!(
            "`{name}` within dir: what lies in it is an entry of its own, and a mode stands beside \
             it: {{dir: {{}}, mode: \"0700\"}}"
        ))),
    }
}

impl TryFrom<WrittenEntry> for FixtureEntry {
    type Error = String;

    fn try_from(written: WrittenEntry) -> Result<Self, String> {
        let found = [
            written.file.map(EntryKind::File),
            written.dir.map(|_| EntryKind::Dir),
            written.link.map(EntryKind::Link),
            written.hardlink.map(EntryKind::Hardlink),
            written.fifo.map(|_| EntryKind::Fifo),
            written.git.map(|_| EntryKind::Git),
        ];
        let mut found = found.into_iter().flatten();
        let (Some(kind), None) = (found.next(), found.next()) else {
            return Err("an entry is a text or one of file, dir, link, hardlink, fifo, git".into());
        };
        let mode = written.mode.map(|mode| mode_of(&mode)).transpose()?;
        if mode.is_some() && !matches!(kind, EntryKind::File(_) | EntryKind::Dir | EntryKind::Fifo)
        {
            return Err("mode is for file, dir and fifo".into());
        }
        Ok(Self { kind, mode })
    }
}

fn mode_of(mode: &str) -> Result<u32, String> {
    octal(mode).ok_or_else(|| {
        format!("mode `{mode}` is not four octal digits as text, such as \"0644\" or \"4755\"")
    })
}

/// Parses four octal digits.
pub(super) fn octal(text: &str) -> Option<u32> {
    let digits = text.len() == 4 && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    u32::from_str_radix(text, 8).ok().filter(|_| digits)
}

impl From<FixtureEntry> for WrittenEntry {
    fn from(entry: FixtureEntry) -> Self {
        let mut written =
            Self { mode: entry.mode.map(|mode| format!("{mode:04o}")), ..Self::default() };
        match entry.kind {
            EntryKind::File(text) => written.file = Some(text),
            EntryKind::Dir => written.dir = Some(super::NoSettings {}),
            EntryKind::Link(target) => written.link = Some(target),
            EntryKind::Hardlink(path) => written.hardlink = Some(path),
            EntryKind::Fifo => written.fifo = Some(super::NoSettings {}),
            EntryKind::Git => written.git = Some(super::NoSettings {}),
        }
        written
    }
}

impl Serialize for FixtureEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WrittenEntry::from(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FixtureEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> de::Visitor<'de> for EntryVisitor {
            type Value = FixtureEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file's text, or one of file, dir, link, hardlink, fifo, git")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<FixtureEntry, E> {
                Ok(FixtureEntry { kind: EntryKind::File(text.to_owned()), mode: None })
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<FixtureEntry, A::Error> {
                let written =
                    WrittenEntry::deserialize(de::value::MapAccessDeserializer::new(map))?;
                FixtureEntry::try_from(written).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(EntryVisitor)
    }
}

impl JsonSchema for FixtureEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Entry".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let long = generator.subschema_for::<WrittenEntry>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, long] })
    }
}

impl FixtureEntry {
    /// The strings a variable may stand in.
    pub fn strings(&self) -> Vec<&str> {
        match &self.kind {
            EntryKind::File(text) | EntryKind::Link(text) | EntryKind::Hardlink(text) => vec![text],
            EntryKind::Dir | EntryKind::Fifo | EntryKind::Git => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("hello", r#"{"file":"hello"}"#)]
    #[case("{file: '', mode: '0600'}", r#"{"file":"","mode":"0600"}"#)]
    #[case("{file: '', mode: '4755'}", r#"{"file":"","mode":"4755"}"#)]
    #[case("{dir: {}}", r#"{"dir":{}}"#)]
    #[case("{dir: {}, mode: '0311'}", r#"{"dir":{},"mode":"0311"}"#)]
    #[case("{link: ../x}", r#"{"link":"../x"}"#)]
    #[case("{git: {}}", r#"{"git":{}}"#)]
    fn reads_and_writes(#[case] yaml: &str, #[case] json: &str) {
        let entry: FixtureEntry = crate::load::fragment(yaml).unwrap();
        assert_eq!(serde_json::to_string(&entry).unwrap(), json);
        assert_eq!(serde_json::from_str::<FixtureEntry>(json).unwrap(), entry);
    }

    #[rstest]
    #[case("{}", "one of file")]
    #[case("{file: a, dir: {}}", "one of file")]
    #[case("{file: a, mode: '9'}", "not four octal digits")]
    #[case("{file: a, mode: '644'}", "not four octal digits")]
    #[case("{file: a, mode: '+644'}", "not four octal digits")]
    #[case("{file: a, mode: '0855'}", "not four octal digits")]
    #[case("{file: a, mode: '00755'}", "not four octal digits")]
    #[case("{file: a, mode: '10755'}", "not four octal digits")]
    #[case("{link: a, mode: '0644'}", "mode is for")]
    #[case("{dir: {mode: '0700'}}", "a mode stands beside it: {dir: {}, mode: \"0700\"}")]
    #[case("{dir: {f: x}}", "an entry of its own")]
    #[case("{fil: a}", "unknown field `fil`")]
    #[case("7", "a file's text")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<FixtureEntry>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
