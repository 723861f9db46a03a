//! Versions that a manifest is about: [`VersionRange`].

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use semver::{Version, VersionReq};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A range of versions, such as `>=0.8, <1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange(VersionReq);

impl VersionRange {
    /// Returns whether `version` lies in the range. Text after the numbers does not count, a
    /// missing number is 0, and a text that does not start with a number lies in no range.
    pub fn holds(&self, version: &str) -> bool {
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
        let mut numbers = version[..end].split('.').map(str::parse::<u64>);
        let Some(Ok(major)) = numbers.next() else { return false };
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
        self.0.matches(&Version::new(major, next(), next()))
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for VersionRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for VersionRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        VersionReq::parse(&text).map(Self).map_err(de::Error::custom)
    }
}

impl JsonSchema for VersionRange {
    fn schema_name() -> Cow<'static, str> {
        "VersionRange".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Comparisons joined by commas, such as `>=0.8, <1`.",
            "type": "string",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(">=0.8, <1", "0.8.0", true)]
    #[case(">=0.8, <1", "0.11", true)]
    #[case(">=0.8, <1", "0.7.9", false)]
    #[case(">=0.8, <1", "1", false)]
    #[case(">=2.38", "2.38.1-rc2", true)]
    #[case(">=2.38", "2", false)]
    #[case(">=2022", "20221219.0", true)]
    #[case(">=0", "unknown", false)]
    #[case(">=0", "", false)]
    fn a_version_lies_in_a_range_or_not(
        #[case] range: &str,
        #[case] version: &str,
        #[case] holds: bool,
    ) {
        let range: VersionRange = serde_yaml::from_str(&format!("'{range}'")).unwrap();
        assert_eq!(range.holds(version), holds);
    }

    #[test]
    fn what_is_no_range_is_an_error() {
        assert!(serde_yaml::from_str::<VersionRange>("new").is_err());
    }
}
