//! The host needs of a case: a fact, and for a tool optionally a version.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HostFact;

/// A fact that the host must have, such as `node` or `node >= 22.21`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", description = "A fact, or a tool's with its least version.")]
pub struct HostNeed {
    /// The fact.
    pub fact: HostFact,
    /// The oldest version that will do.
    pub least: Option<ToolVersion>,
}

/// A version: numbers, the first of which counts most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolVersion(Vec<u64>);

impl ToolVersion {
    /// The first version that `text`, a tool's answer to `--version`, has.
    pub fn in_text(text: &str) -> Option<Self> {
        let mut runs = text.split(|c: char| !c.is_ascii_digit() && c != '.');
        runs.find_map(|run| {
            Self::parse(run.trim_matches('.')).filter(|version| version.0.len() > 1)
        })
    }

    /// Numbers with dots between them. Zeroes at the end make no difference.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers: Vec<u64> =
            text.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        while numbers.len() > 2 && numbers.last() == Some(&0) {
            numbers.pop();
        }
        Some(Self(numbers))
    }
}

impl fmt::Display for ToolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

impl TryFrom<String> for HostNeed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (word, version) = match text.split_once(">=") {
            Some((word, version)) => (word.trim(), Some(version.trim())),
            None => (text.as_str(), None),
        };
        let fact =
            HostFact::ALL.into_iter().find(|fact| fact.keyword() == word).ok_or_else(|| {
                let words = HostFact::ALL.map(HostFact::keyword).join(" ");
                format!("no host fact `{text}`: use one of {words}, or such as `git >= 2.40`")
            })?;
        if version.is_some() && !fact.is_tool() {
            return Err(format!("`{text}`: {word} is no tool and has no version"));
        }
        let number = |version: &str| {
            ToolVersion::parse(version)
                .ok_or_else(|| format!("`{text}`: the version is numbers with dots between them"))
        };
        Ok(Self { fact, least: version.map(number).transpose()? })
    }
}

impl From<HostNeed> for String {
    fn from(need: HostNeed) -> Self {
        match need.least {
            Some(least) => format!("{} >= {least}", need.fact.keyword()),
            None => need.fact.keyword().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("userns", "\"userns\"")]
    #[case("node>=22", "\"node >= 22\"")]
    #[case("node >= 22.21", "\"node >= 22.21\"")]
    fn survives_a_round_trip(#[case] yaml: &str, #[case] json: &str) {
        let need: HostNeed = crate::load::fragment(yaml).unwrap();
        assert_eq!(serde_json::to_string(&need).unwrap(), json);
        assert_eq!(serde_json::from_str::<HostNeed>(json).unwrap(), need);
    }

    #[rstest]
    #[case("nodejs", "no host fact `nodejs`: use one of userns")]
    #[case("node > 22", "no host fact `node > 22`")]
    #[case("node >= v22", "the version is numbers")]
    #[case("node >= ''", "the version is numbers")]
    #[case("root >= 1", "root is no tool")]
    #[case("[node]", "invalid type")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<HostNeed>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    #[rstest]
    #[case("v24.21.0", Some("24.21"))]
    #[case("git version 2.43.0", Some("2.43"))]
    #[case("GNU bash, version 5.2.37(1)-release (x86_64-pc-linux-gnu)", Some("5.2.37"))]
    #[case("cc (Debian 12.2.0-14) 12.2.0", Some("12.2"))]
    #[case("Python 3.13.5", Some("3.13.5"))]
    #[case("tool 7", None)]
    #[case("no version", None)]
    fn a_version_is_found_in_what_a_tool_says(#[case] text: &str, #[case] version: Option<&str>) {
        assert_eq!(ToolVersion::in_text(text).map(|found| found.to_string()).as_deref(), version);
    }

    #[rstest]
    #[case("22.21", "22.21.1", true)]
    #[case("22.21", "22.21", true)]
    #[case("22.9", "22.21.0", true)]
    #[case("22.21", "22.9.0", false)]
    #[case("22", "22.0.0", true)]
    #[case("3", "2.99", false)]
    fn versions_are_compared_by_their_numbers(
        #[case] least: &str,
        #[case] found: &str,
        #[case] enough: bool,
    ) {
        let least = ToolVersion::parse(least).unwrap();
        assert_eq!(ToolVersion::in_text(found).unwrap() >= least, enough);
    }
}
