//! The rules of a case as a user's configuration file with a sandbox block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OrbitSpec, PolicySpec};
use crate::protocol::{Dialect, Document};

/// A configuration file, as a case writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InferoaSpec {
    /// The whole file, letter for letter. Relative paths in it start at the workspace, so that
    /// `../out` is `$OUT`; `~` is `$HOME`.
    pub config: String,
    /// The workspace that is named, below the real one; by default that itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl InferoaSpec {
    /// The name of the file in messages.
    pub const NAME: &str = "config.yaml";

    /// The file.
    pub fn document(&self) -> Document {
        Document { name: Self::NAME.to_owned(), text: self.config.clone() }
    }
}

/// Documents that a policy of a case hands over, and their language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDocuments {
    /// The language.
    pub dialect: Dialect,
    /// The documents, in order.
    pub documents: Vec<Document>,
    /// The profile, if the language has profiles.
    pub profile: Option<String>,
    /// The workspace, below the real one, where another name of it is used.
    pub workspace: Option<String>,
}

impl PolicySpec {
    /// The documents, if there are some instead of keys.
    pub fn documents(&self) -> Option<PolicyDocuments> {
        if let Some(spec) = &self.inferoa {
            let (documents, workspace) = (vec![spec.document()], spec.workspace.clone());
            return Some(PolicyDocuments {
                dialect: Dialect::Inferoa,
                documents,
                profile: None,
                workspace,
            });
        }
        let spec: &OrbitSpec = self.orbit.as_ref()?;
        let (documents, profile) = (spec.documents(), Some(spec.profile().to_owned()));
        Some(PolicyDocuments { dialect: Dialect::Orbit, documents, profile, workspace: None })
    }
}
