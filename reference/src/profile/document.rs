//! The documents as they are written, and one laid over the other.

use std::collections::BTreeMap;
use std::path::Path;

use boxproof_cases::load;
use boxproof_cases::protocol::Document;
use serde::Deserialize;

use crate::error::Refusal;

/// The version that is understood.
const VERSION: u64 = 2;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Whole {
    #[serde(rename = "schemaVersion")]
    _version: u64,
    kind: String,
    #[serde(rename = "metadata")]
    _metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    #[serde(rename = "name")]
    _name: String,
}

/// Only what tells whether the rest can be understood.
#[derive(Debug, Deserialize)]
struct Head {
    #[serde(rename = "schemaVersion")]
    version: u64,
}

/// The rules of a document.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Spec {
    /// What is never read.
    #[serde(default)]
    pub(super) deny_read: Vec<String>,
    /// What is never modified.
    #[serde(default)]
    pub(super) deny_modify: Vec<String>,
    /// Profiles by name.
    #[serde(default, rename = "fsProfiles")]
    pub(super) profiles: BTreeMap<String, Profile>,
    #[serde(default)]
    description: Option<String>,
}

/// The rules of a profile, in order.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// What is read.
    #[serde(default)]
    pub(super) read: Vec<String>,
    /// What is modified.
    #[serde(default)]
    pub(super) modify: Vec<String>,
}

/// All `documents` as one: denies add up, a profile replaces the one of the same name before it.
pub(super) fn merged(documents: &[Document]) -> Result<Spec, Refusal> {
    let mut all = Spec::default();
    for document in documents {
        let spec = read(document)?;
        all.deny_read.extend(spec.deny_read);
        all.deny_modify.extend(spec.deny_modify);
        all.profiles.extend(spec.profiles);
        all.description = spec.description.or(all.description);
    }
    Ok(all)
}

fn read(document: &Document) -> Result<Spec, Refusal> {
    let Document { name, text } = document;
    let invalid = |error: load::LoadError| Refusal::invalid(error.to_string());
    let Head { version } = load::parse(Path::new(name), text).map_err(invalid)?;
    if version != VERSION {
        return Err(Refusal::invalid(format!(
            "failed to parse {name}: policy schemaVersion {version} is not supported; use {VERSION}"
        )));
    }
    let whole: Whole = load::parse(Path::new(name), text).map_err(invalid)?;
    match whole.kind.as_str() {
        "Policy" => Ok(whole.spec),
        other => Err(Refusal::invalid(format!(
            "failed to parse {name}: expected kind Policy, found {other}"
        ))),
    }
}
