//! The first line of a run record: the run, its host and its backends ([`Header`]).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Provenance of a run; known before the first case starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the record format.
    pub format: u32,
    /// Version of the harness.
    pub harness: String,
    /// The corpus of the run.
    pub corpus: CorpusInfo,
    /// The start time of the run, RFC 3339 in UTC.
    pub started: String,
    /// Host facts by name. `os`, `distro`, `kernel` and `arch` name the host in reports.
    pub host: BTreeMap<String, serde_json::Value>,
    /// The user that the acts ran as.
    pub user: RunUser,
    /// The sandboxes under test, in the order they were named.
    pub backends: Vec<BackendInfo>,
    /// The selected cases.
    pub selection: Selection,
    /// The requirements that the selected cases cite, by id; empty before format 3.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requirements: BTreeMap<String, RequirementText>,
    /// The frozen set by which the cases are held, where there is one for the corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetInfo>,
    /// The address of the corpus's files, which ends with a slash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The commit that was judged, as the one who ran it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The text of each file of the corpus that has a selected case, by its path: with it the rows
    /// are judged again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub case_files: BTreeMap<String, String>,
}

/// A frozen set: the cases that a version requires, by profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetInfo {
    /// The version.
    pub version: String,
    /// Profile → how many cases it requires, whether selected or not.
    pub profiles: BTreeMap<String, u64>,
}

/// One requirement: a sentence that is promised, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementText {
    /// The sentence.
    pub text: String,
    /// The source of the sentence.
    pub source: String,
}

/// The corpus of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorpusInfo {
    /// The corpus version.
    pub version: String,
    /// SHA-256 over the corpus files, lower-case hex.
    pub sha256: String,
    /// The source of the corpus: `built-in`, or the directory it was read from.
    pub source: String,
}

/// The user that the acts ran as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunUser {
    /// Root or not.
    pub kind: UserKind,
    /// The user id.
    pub uid: u32,
}

/// Root or not: known failures and claims may differ between the two.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum UserKind {
    /// User id 0.
    Root,
    /// Any other user.
    Ordinary,
}

impl UserKind {
    /// The word for this kind in records and reports.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Ordinary => "ordinary",
        }
    }
}

/// One sandbox under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackendInfo {
    /// The backend's name; unique in a run.
    pub name: String,
    /// The version it reports; empty when it is missing.
    pub version: String,
    /// SHA-256 of the program, lower-case hex; empty when it is missing.
    pub sha256: String,
    /// The program, as resolved.
    pub program: String,
    /// The mechanism in use on this host; empty when the backend has but one.
    pub mechanism: String,
    /// Capability → level (`none`, `partial`, `enforced`).
    pub claims: BTreeMap<String, String>,
    /// The home page of the backend, where its manifest names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The installation hint of a backend that is not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The selected cases. The id count and hash are of the whole selection, before it was cut into
/// shards, so that merged shards can be proven complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The filters given; all must match.
    pub filters: Vec<String>,
    /// True if cases were run even if the backend does not claim what they need.
    pub all: bool,
    /// True if slow cases were selected too; absent in format 1.
    #[serde(default)]
    pub slow: bool,
    /// True if failures below level `must` count.
    pub strict: bool,
    /// The number of ids of the whole selection.
    pub ids: u64,
    /// SHA-256 of the sorted ids, each followed by a newline, lower-case hex.
    pub ids_sha256: String,
    /// The part of the selection this run was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl Selection {
    /// A whole (unsharded) selection of `ids`, without filters.
    #[must_use]
    pub fn whole_selection<'a>(ids: impl IntoIterator<Item = &'a str>) -> Self {
        let ids: BTreeSet<&str> = ids.into_iter().collect();
        Self {
            filters: Vec::new(),
            all: false,
            slow: false,
            strict: false,
            ids: ids.len() as u64,
            ids_sha256: ids_sha256(&ids),
            shard: None,
        }
    }

    /// Returns whether `ids` are exactly the ids of the whole selection.
    #[must_use]
    pub fn is_exactly(&self, ids: &BTreeSet<&str>) -> bool {
        self.ids == ids.len() as u64 && self.ids_sha256 == ids_sha256(ids)
    }
}

/// One part of a selection.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The part, from 1.
    pub index: u32,
    /// The number of parts.
    pub of: u32,
}

fn ids_sha256(ids: &BTreeSet<&str>) -> String {
    let mut hash = Sha256::new();
    for id in ids {
        hash.update(id.as_bytes());
        hash.update(b"\n");
    }
    format!("{:x}", hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_knows_its_ids_whatever_their_order() {
        let selection = Selection::whole_selection(["net/b", "fs/a", "fs/a"]);
        assert_eq!(selection.ids, 2);
        assert_eq!(selection, Selection::whole_selection(["fs/a", "net/b"]));
        assert!(selection.is_exactly(&BTreeSet::from(["fs/a", "net/b"])));
        assert!(!selection.is_exactly(&BTreeSet::from(["fs/a"])));
        assert!(!selection.is_exactly(&BTreeSet::from(["fs/a", "net/c"])));
    }
}
