//! A declaration of an agent executor in a case, and what must be started by it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{Document, ExecutorStart, SettingsPlatform};

/// A declaration, and the machine that is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutorSpec {
    /// The whole file, letter for letter.
    pub declaration: String,
    /// The machine's system.
    pub platform: SettingsPlatform,
    /// The confining programs that the machine has.
    #[serde(default)]
    pub programs: Vec<String>,
}

impl ExecutorSpec {
    /// The name of the file in messages.
    pub const NAME: &str = "executor.yaml";

    /// The file.
    pub fn document(&self) -> Document {
        Document { name: Self::NAME.to_owned(), text: self.declaration.clone() }
    }
}

/// The expected start of an agent; members that are left out are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartExpect {
    /// Program and arguments, all of them.
    pub argv: Vec<String>,
    /// True if the outer sandbox runs.
    pub enforced: bool,
    /// The agent's configuration, all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, String>>,
    /// The side roots, all of them and in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_roots: Option<Vec<String>>,
    /// Texts that warnings have; an empty list stands for no warning at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warns: Option<Vec<String>>,
}

impl StartExpect {
    /// Returns the first member that differs in `found`: its name, the found value and the expected
    /// value.
    pub fn differs(&self, found: &ExecutorStart) -> Option<(&'static str, String, String)> {
        let roots: Vec<String> =
            found.side_roots.iter().map(|root| root.as_path().display().to_string()).collect();
        let warned = |text: &&String| found.warnings.iter().any(|said| said.contains(*text));
        let unsaid = match &self.warns {
            Some(texts) if texts.is_empty() && !found.warnings.is_empty() => {
                Some("none".to_owned())
            }
            Some(texts) => texts.iter().find(|text| !warned(text)).cloned(),
            None => None,
        };
        [
            other("enforced", Some(&self.enforced), &found.enforced),
            other("argv", Some(&self.argv), &found.argv),
            other("config", self.config.as_ref(), &found.config),
            other("side_roots", self.side_roots.as_ref(), &roots),
            unsaid.map(|text| ("warnings", format!("{:?}", found.warnings), text)),
        ]
        .into_iter()
        .flatten()
        .next()
    }
}

fn other<T: PartialEq + std::fmt::Debug>(
    name: &'static str,
    wanted: Option<&T>,
    found: &T,
) -> Option<(&'static str, String, String)> {
    let wanted = wanted.filter(|wanted| *wanted != found)?;
    Some((name, format!("{found:?}"), format!("{wanted:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn start() -> ExecutorStart {
        ExecutorStart {
            argv: vec!["agent".to_owned()],
            config: BTreeMap::new(),
            enforced: true,
            side_roots: vec!["/w/o".into()],
            warnings: vec!["mind /w/o".to_owned()],
        }
    }

    #[rstest]
    #[case("{argv: [agent], enforced: true}", None)]
    #[case("{argv: [agent], enforced: true, side_roots: [/w/o], warns: [mind], config: {}}", None)]
    #[case("{argv: [agent], enforced: false}", Some("enforced"))]
    #[case("{argv: [other], enforced: true}", Some("argv"))]
    #[case("{argv: [agent], enforced: true, config: {a: b}}", Some("config"))]
    #[case("{argv: [agent], enforced: true, side_roots: []}", Some("side_roots"))]
    #[case("{argv: [agent], enforced: true, warns: []}", Some("warnings"))]
    #[case("{argv: [agent], enforced: true, warns: [mind, more]}", Some("warnings"))]
    fn the_first_difference_is_named(#[case] yaml: &str, #[case] member: Option<&str>) {
        let wanted: StartExpect = crate::load::fragment(yaml).unwrap();
        assert_eq!(wanted.differs(&start()).map(|(name, ..)| name), member);
    }

    #[test]
    fn an_unknown_member_is_refused() {
        let text = "{argv: [agent], enforced: true, warn: []}";
        assert!(crate::load::fragment::<StartExpect>(text).is_err());
    }
}
