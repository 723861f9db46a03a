//! The rules of a case in the orbit dialect: one document with one profile.

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
}

impl OrbitSpec {
    /// The name of the profile.
    pub const PROFILE: &str = "command";

    /// The document.
    pub fn document(&self) -> Document {
        let Self { read, modify, deny_read, deny_modify } = self;
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
