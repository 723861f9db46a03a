//! The rules of a case in the orbit dialect: one document with one profile, or whole documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::protocol::Document;

/// A policy v2 document, as far as a case writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrbitSpec {
    /// The profile's read rules.
    #[serde(default)]
    pub read: Vec<String>,
    /// The profile's modify rules.
    #[serde(default)]
    pub modify: Vec<String>,
    /// `denyRead`.
    #[serde(default)]
    pub deny_read: Vec<String>,
    /// `denyModify`.
    #[serde(default)]
    pub deny_modify: Vec<String>,
    /// Instead of the four lists: the host's document, letter for letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The workspace's document, laid over `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The profile that is asked about; by default the one that the four lists make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl OrbitSpec {
    /// The name of the profile.
    pub const PROFILE: &str = "command";
    /// The name of the host's document in messages.
    pub const HOST: &str = "host.yaml";
    /// The name of the workspace's document in messages.
    pub const OVER: &str = "workspace.yaml";

    /// Every document of a question: the host's, then the workspace's if there is one.
    pub fn documents(&self) -> Vec<Document> {
        let named =
            |name: &str, text: &String| Document { name: name.to_owned(), text: text.clone() };
        let Some(host) = &self.host else { return vec![self.document()] };
        let over = self.over.iter().map(|text| named(Self::OVER, text));
        std::iter::once(named(Self::HOST, host)).chain(over).collect()
    }

    /// The profile that is asked about.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or(Self::PROFILE)
    }

    /// Returns whether the policy has more than the four lists.
    pub fn has_documents(&self) -> bool {
        self.host.is_some() || self.over.is_some() || self.profile.is_some()
    }

    /// Checks that the parts fit together.
    pub(crate) fn check(&self) -> Result<(), String> {
        let lists = [&self.read, &self.modify, &self.deny_read, &self.deny_modify];
        match (&self.host, &self.over) {
            (None, Some(_)) => Err("`over` needs `host`, which it is laid over".to_owned()),
            (Some(_), _) if lists.iter().any(|list| !list.is_empty()) => {
                Err("orbit has either `host` or the four lists".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The document of the four lists.
    pub fn document(&self) -> Document {
        let Self { read, modify, deny_read, deny_modify, .. } = self;
        let profile = json!({"read": read, "modify": modify});
        let whole = json!({
            "schemaVersion": 2,
            "kind": "Policy",
            "metadata": {"name": "default"},
            "spec": {
                "denyRead": deny_read,
                "denyModify": deny_modify,
                "fsProfiles": {Self::PROFILE: profile},
            },
        });
        Document { name: "policy.yaml".to_owned(), text: whole.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_the_rules() {
        let spec: OrbitSpec =
            crate::load::fragment("{read: ['**', '!a'], deny_modify: [b]}").unwrap();
        let document: serde_json::Value = serde_json::from_str(&spec.document().text).unwrap();
        assert_eq!(document["spec"]["denyModify"], json!(["b"]));
        assert_eq!(document["spec"]["fsProfiles"]["command"]["read"], json!(["**", "!a"]));
        assert_eq!(document["schemaVersion"], 2);
    }
}
