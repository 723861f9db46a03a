//! Requirements: the sentences a policy or contract promises, each with a stable id.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stable id such as `R-protect-git-write`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct RequirementId(String);

impl RequirementId {
    /// The id as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RequirementId {
    type Error = String;

    fn try_from(id: String) -> Result<Self, String> {
        let words = id.strip_prefix("R-").unwrap_or_default();
        let word = |w: &str| {
            !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if words.split('-').all(word) {
            return Ok(Self(id));
        }
        Err(format!("`{id}` is not a requirement id: write R- and lower-case words, as in R-fs-x"))
    }
}

impl From<RequirementId> for String {
    fn from(id: RequirementId) -> Self {
        id.0
    }
}

impl fmt::Display for RequirementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The promise, in one sentence.
    pub text: String,
    /// The source of the requirement: a contract, a CVE or a public report.
    pub source: String,
    /// The kinds of case that the requirement asks for.
    #[serde(default)]
    pub polarity: CasePolarity,
}

/// The kinds of case that a requirement asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CasePolarity {
    /// A case in which the act is allowed, and one in which it is not.
    #[default]
    Both,
    /// Only what must work.
    Positive,
    /// Only what must not.
    Negative,
}

/// All requirements a suite knows, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequirementRegistry(BTreeMap<RequirementId, Requirement>);

impl RequirementRegistry {
    /// Adds the requirements of one file.
    ///
    /// # Errors
    /// The first id that is already there and stands for another requirement.
    pub fn add(&mut self, file: BTreeMap<RequirementId, Requirement>) -> Result<(), RequirementId> {
        for (id, requirement) in file {
            match self.0.get(&id) {
                Some(there) if *there == requirement => {}
                Some(_) => return Err(id),
                None => drop(self.0.insert(id, requirement)),
            }
        }
        Ok(())
    }

    /// The requirement called `id`.
    pub fn get(&self, id: &RequirementId) -> Option<&Requirement> {
        self.0.get(id)
    }

    /// All of them, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = (&RequirementId, &Requirement)> {
        self.0.iter()
    }

    /// Returns the number of requirements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("R-fs-write", true)]
    #[case("R-a1", true)]
    #[case("R-", false)]
    #[case("R-Fs", false)]
    #[case("R-fs--x", false)]
    #[case("C07", false)]
    #[case("", false)]
    fn id_syntax(#[case] id: &str, #[case] good: bool) {
        assert_eq!(RequirementId::try_from(id.to_owned()).is_ok(), good);
    }
}
