//! One policy document: the closed schema, read with the place of everything in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::error::PolicyError;
use super::rule::SourceLocation;
use crate::policy::yaml_document;

/// The one version that is read.
const VERSION: u32 = 2;

/// A document, as written.
#[derive(Debug, Clone)]
pub struct PolicyDocument {
    /// Its name in messages.
    pub label: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) created_at: Option<String>,
    pub(super) updated_at: Option<String>,
    pub(super) deny_read: Vec<LocatedText>,
    pub(super) deny_modify: Vec<LocatedText>,
    pub(super) profiles: BTreeMap<String, WrittenProfile>,
}

/// A text and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedText {
    pub(super) text: String,
    pub(super) place: SourceLocation,
}

/// A profile, as written.
#[derive(Debug, Clone)]
pub(super) struct WrittenProfile {
    pub(super) place: SourceLocation,
    pub(super) read: Vec<LocatedText>,
    pub(super) modify: Vec<LocatedText>,
}

/// The members that are read first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentHeader {
    schema_version: Spanned<u32>,
    kind: Spanned<DocumentKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum DocumentKind {
    Job,
    Activity,
    Policy,
    Executor,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DocumentEnvelope {
    schema_version: Spanned<u32>,
    kind: Spanned<DocumentKind>,
    metadata: DocumentMetadata,
    spec: Option<DocumentSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentMetadata {
    name: String,
    #[serde(default, rename = "labels")]
    _labels: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "annotations")]
    _annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentSpec {
    description: Option<String>,
    #[serde(default, rename = "denyRead")]
    deny_read: Option<Vec<Spanned<Option<String>>>>,
    #[serde(default, rename = "denyModify")]
    deny_modify: Option<Vec<Spanned<Option<String>>>>,
    #[serde(default, rename = "fsProfiles")]
    profiles: Option<BTreeMap<String, Spanned<Option<ProfileSpec>>>>,
    created_at: Option<Spanned<String>>,
    updated_at: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileSpec {
    #[serde(default)]
    read: Option<Vec<Spanned<Option<String>>>>,
    #[serde(default)]
    modify: Option<Vec<Spanned<Option<String>>>>,
}

impl PolicyDocument {
    /// Reads the document that messages call `label` and places call `file`.
    ///
    /// # Errors
    /// The error, its place, and the remedy. No part of the document is used then.
    pub fn parse(label: &str, file: &str, text: &str) -> Result<Self, PolicyError> {
        let source =
            DocumentSource { label, file: file.into(), text, lines: text.lines().collect() };
        let envelope = source.envelope()?;
        let spec = envelope.spec.unwrap_or_default();
        let profiles = spec.profiles.unwrap_or_default().into_iter().map(|(name, lists)| {
            let place = source.place(lists.referenced.line(), lists.referenced.column());
            let lists = lists.value.unwrap_or_default();
            let (read, modify) = (source.rules(lists.read)?, source.rules(lists.modify)?);
            Ok((name, WrittenProfile { place, read, modify }))
        });
        let profiles = profiles.collect::<Result<_, PolicyError>>()?;
        Ok(Self {
            label: label.to_owned(),
            name: envelope.metadata.name,
            description: spec.description,
            created_at: source.time("spec.created_at", spec.created_at)?,
            updated_at: source.time("spec.updated_at", spec.updated_at)?,
            deny_read: source.rules(spec.deny_read)?,
            deny_modify: source.rules(spec.deny_modify)?,
            profiles,
        })
    }
}

/// A document's text and names.
struct DocumentSource<'a> {
    label: &'a str,
    file: Arc<str>,
    text: &'a str,
    lines: Vec<&'a str>,
}

impl DocumentSource<'_> {
    /// Reads the envelope. A wrong kind or version is reported before any other error.
    fn envelope(&self) -> Result<DocumentEnvelope, PolicyError> {
        match self.read::<DocumentEnvelope>() {
            Ok(envelope) => {
                self.header(&envelope.kind, &envelope.schema_version)?;
                Ok(envelope)
            }
            Err(error) => {
                let header: DocumentHeader = self.read()?;
                self.header(&header.kind, &header.schema_version)?;
                Err(error)
            }
        }
    }

    /// Kind before version.
    fn header(
        &self,
        kind: &Spanned<DocumentKind>,
        version: &Spanned<u32>,
    ) -> Result<(), PolicyError> {
        if kind.value != DocumentKind::Policy && !fault!("dialects.any-kind") {
            let place = self.place(kind.referenced.line(), kind.referenced.column());
            return Err(
                self.failed(&place, &format!("expected kind Policy, found {:?}", kind.value))
            );
        }
        let place = self.place(version.referenced.line(), version.referenced.column());
        if self.line_at(&place).1.starts_with(['\'', '"']) {
            let why = format!("invalid type: string \"{}\", expected u32", version.value);
            return Err(self.failed(&place, &why));
        }
        match version.value {
            VERSION => Ok(()),
            _ if fault!("dialects.any-version") => Ok(()),
            1 => Err(self.failed(
                &place,
                "policy schemaVersion 1 is no longer supported; migrate to schemaVersion 2 with \
                 `spec.denyRead`, `spec.denyModify`, and `spec.fsProfiles`",
            )),
            other => Err(self.failed(&place, &format!("unsupported policy schemaVersion {other}"))),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, PolicyError> {
        yaml_document::read(self.text, "{read: [\"**\"]}").map_err(|fault| {
            let (line, column) = fault.place.unwrap_or((1, 1));
            self.failed(&self.place(line, column), &fault.message)
        })
    }

    fn failed(&self, place: &SourceLocation, why: &str) -> PolicyError {
        PolicyError::at(place, format!("failed to parse {}: {why}", self.label))
    }

    fn place(&self, line: impl TryInto<usize>, column: impl TryInto<usize>) -> SourceLocation {
        let [line, column] = [line.try_into().unwrap_or(1), column.try_into().unwrap_or(1)];
        SourceLocation { file: Arc::clone(&self.file), line: line.max(1), column: column.max(1) }
    }

    /// Returns the line of `place`, parted there.
    fn line_at(&self, place: &SourceLocation) -> (&str, &str) {
        let line = self.lines.get(place.line - 1).copied().unwrap_or_default();
        let start = line.char_indices().nth(place.column - 1).map_or(line.len(), |(at, _)| at);
        line.split_at(start)
    }

    fn rules(
        &self,
        list: Option<Vec<Spanned<Option<String>>>>,
    ) -> Result<Vec<LocatedText>, PolicyError> {
        list.unwrap_or_default().into_iter().map(|rule| self.rule(rule)).collect()
    }

    /// A rule that YAML reads as something else, a tag or nothing, is refused with the remedy.
    fn rule(&self, rule: Spanned<Option<String>>) -> Result<LocatedText, PolicyError> {
        let place = self.place(rule.referenced.line(), rule.referenced.column());
        let text = rule.value.unwrap_or_default();
        let (before, _) = self.line_at(&place);
        let word = before.trim_end().rsplit([' ', '\t', '[', ',']).next();
        match word.filter(|word| word.starts_with(['!', '&'])) {
            Some(written) => Err(self.failed(
                &place,
                &format!("a rule is read as a YAML tag{}", yaml_document::quote_it(written)),
            )),
            _ => Ok(LocatedText { text, place }),
        }
    }

    fn time(
        &self,
        field: &str,
        time: Option<Spanned<String>>,
    ) -> Result<Option<String>, PolicyError> {
        let Some(time) = time else { return Ok(None) };
        let place = self.place(time.referenced.line(), time.referenced.column());
        match time.value.parse::<jiff::Timestamp>() {
            Ok(_) => Ok(Some(time.value)),
            Err(_) if fault!("dialects.any-time") => Ok(Some(time.value)),
            Err(_) => {
                let why = format!("{field} is no RFC 3339 time, such as 2026-01-31T12:00:00Z");
                Err(self.failed(&place, &why))
            }
        }
    }
}
