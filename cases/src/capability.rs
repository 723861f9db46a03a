//! The closed list of capabilities, owned by `capabilities.yaml`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nearest::suggestion;

static LIST: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    // The file is compiled in and a test parses it; an empty list would refuse every case.
    serde_yaml::from_str(include_str!("../capabilities.yaml")).unwrap_or_default()
});

/// One thing a backend can claim. Only names of the closed list can be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Capability(String);

impl Capability {
    /// The capability called `name`.
    ///
    /// ```
    /// use boxproof_cases::Capability;
    ///
    /// assert_eq!(Capability::new("net.none").unwrap().name(), "net.none");
    /// assert!(Capability::new("net.nothing").is_err());
    /// ```
    ///
    /// # Errors
    /// When the closed list does not have it; the message says what is near.
    pub fn new(name: &str) -> Result<Self, String> {
        if LIST.contains_key(name) {
            return Ok(Self(name.to_owned()));
        }
        let near = suggestion(name, LIST.keys().map(String::as_str));
        Err(format!("unknown capability `{name}`{near}; `boxproof capabilities` lists them"))
    }

    /// The name of the capability, such as `fs.write`.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns the meaning of a claim of this capability, in one sentence.
    pub fn meaning(&self) -> &'static str {
        LIST.get(&self.0).map_or("", String::as_str)
    }

    /// The whole closed list, sorted.
    pub fn all() -> impl Iterator<Item = Self> {
        LIST.keys().cloned().map(Self)
    }
}

impl JsonSchema for Capability {
    fn schema_name() -> Cow<'static, str> {
        "Capability".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "One thing that a backend can claim.",
            "type": "string",
            "enum": LIST.keys().collect::<Vec<_>>(),
        })
    }
}

impl TryFrom<String> for Capability {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::new(&name)
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> Self {
        capability.0
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_parses_and_every_entry_is_a_sentence() {
        assert!(Capability::all().count() > 30);
        for capability in Capability::all() {
            assert!(capability.meaning().ends_with('.'), "{capability}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert!(Capability::new("fs.writ").unwrap_err().contains("did you mean `fs.write`?"));
    }
}
