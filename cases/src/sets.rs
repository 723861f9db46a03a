//! The frozen sets ([`FrozenSet`]): the cases that a version requires, by profile. The files are
//! below `sets`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::EMBEDDED_FILES;

/// The set of one version.
///
/// ```
/// let set = boxproof_cases::FrozenSet::newest().unwrap();
/// assert!(set.ids("core").unwrap().iter().all(|id| set.by_id().contains_key(id)));
/// assert!(set.ids("no-such-profile").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenSet {
    /// The version.
    pub version: String,
    /// Its profiles by name.
    pub profiles: BTreeMap<String, RequiredCases>,
    /// Cases that were there and are not required, with the reason.
    pub not_scored: BTreeMap<String, NotScored>,
}

/// The cases that one profile requires.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredCases {
    /// The meaning of conformance to the profile, in one sentence.
    pub about: String,
    /// Case → its rows; none where it is no table.
    pub required: BTreeMap<String, Vec<String>>,
}

/// The reason why a case is not required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotScored {
    /// The case was added after the set was frozen.
    AddedAfter,
    /// The case is about more than a sandbox has to do.
    Extension,
    /// The case is still under discussion.
    Pending,
    /// Rows of it are good practice, no promise.
    BelowMust,
}

impl RequiredCases {
    /// The ids, rows included.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.required.iter().flat_map(|(case, rows)| match rows.is_empty() {
            true => vec![case.clone()],
            false => rows.iter().map(|row| format!("{case}/{row}")).collect(),
        })
    }
}

impl FrozenSet {
    /// The newest set: of the greatest version.
    ///
    /// # Errors
    /// When a file is no set; a test reads them all.
    pub fn newest() -> Result<Self, String> {
        let sets = EMBEDDED_FILES.below("sets").map(|(path, text)| {
            serde_yaml::from_str::<Self>(text).map_err(|error| format!("{path}: {error}"))
        });
        let sets: Vec<Self> = sets.collect::<Result<_, String>>()?;
        let number = |set: &Self| -> Vec<u32> {
            set.version.split('.').filter_map(|part| part.parse().ok()).collect()
        };
        sets.into_iter().max_by_key(number).ok_or_else(|| "there is no set".to_owned())
    }

    /// The ids of `name`: a profile, or the version for all of them.
    ///
    /// # Errors
    /// Where there is none of that name, with those that there are.
    pub fn ids(&self, name: &str) -> Result<BTreeSet<String>, String> {
        if name == self.version {
            return Ok(self.profiles.values().flat_map(RequiredCases::ids).collect());
        }
        let profile = self.profiles.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            format!("there is no set `{name}`: {}, or {} for all", names.join(", "), self.version)
        })?;
        Ok(profile.ids().collect())
    }

    /// Id → the profiles that require it.
    #[must_use]
    pub fn by_id(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, profile) in &self.profiles {
            for id in profile.ids() {
                found.entry(id).or_default().push(name.clone());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Suite;
    use crate::case::Level;

    #[test]
    fn what_is_required_is_in_the_corpus_and_a_promise() {
        let (set, suite) = (FrozenSet::newest().unwrap(), Suite::embedded().unwrap());
        let must = suite.cases.iter().filter(|case| case.level == Level::Must);
        let must: BTreeSet<&str> = must.map(|case| case.id.as_str()).collect();
        let required = set.ids(&set.version).unwrap();
        let gone: Vec<&String> = required.iter().filter(|id| !must.contains(id.as_str())).collect();
        assert!(gone.is_empty(), "frozen in sets/{}.yaml, and gone: {gone:?}", set.version);
        assert!(required.len() > 2000, "{}", required.len());
    }

    #[test]
    fn what_is_not_scored_is_not_required() {
        let set = FrozenSet::newest().unwrap();
        let required: BTreeSet<&String> =
            set.profiles.values().flat_map(|profile| profile.required.keys()).collect();
        let both: Vec<&String> = set.not_scored.keys().filter(|id| required.contains(id)).collect();
        assert!(both.is_empty(), "{both:?}");
        let by_id = set.by_id();
        assert_eq!(by_id.len(), set.ids(&set.version).unwrap().len());
        assert_eq!(by_id["env/clear"], ["core"]);
    }

    #[test]
    fn a_set_that_is_none_is_told_with_those_there_are() {
        let error = FrozenSet::newest().unwrap().ids("nore").unwrap_err();
        assert!(error.contains("no set `nore`: agent-workspace, core, dialects"), "{error}");
    }
}
