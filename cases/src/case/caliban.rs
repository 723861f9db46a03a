//! Settings of the caliban dialect in a case, and what is answered about them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::{
    AskBy, Document, EffectiveSettings, Permission, Session, SettingsPlatform, SourcePrecedence,
};

/// A settings file, and the session that it is read in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibanSpec {
    /// The TOML document; `$WS` and the other variables are replaced, `${NAME}` is the dialect's.
    pub settings: String,
    /// The reading of the settings that counts.
    #[serde(default)]
    pub reading: SourcePrecedence,
    /// The values of `${NAME}`, except `${WORKSPACE}`; for questions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The system that is asked about; for questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<SettingsPlatform>,
}

impl CalibanSpec {
    /// The name of the document in messages.
    pub const FILE: &str = "settings.toml";
    /// The session's name.
    pub const SESSION: &str = "s1";

    /// The document with this text in it.
    pub fn document(text: String) -> Document {
        Document { name: Self::FILE.to_owned(), text }
    }

    /// The session of a question; without a platform, that of Linux.
    pub fn session(&self) -> Session {
        Session {
            variables: Some(self.variables.clone()),
            platform: Some(self.platform.unwrap_or(SettingsPlatform::Linux)),
            id: Some(Self::SESSION.to_owned()),
        }
    }

    /// Returns whether the settings have members that only a question can use.
    pub(crate) fn is_for_questions(&self) -> bool {
        !self.variables.is_empty() || self.platform.is_some()
    }
}

/// The expected values of settings: members that are not named are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenValues", into = "WrittenValues")]
#[schemars(with = "WrittenValues")]
pub struct SettingsExpect {
    /// Members of the answer and their values.
    pub values: Map<String, Value>,
    /// Texts that warnings have; an empty list stands for no warning at all.
    pub warns: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenValues {
    /// Members of the answer and their values.
    #[serde(default)]
    values: Map<String, Value>,
    /// Texts that warnings have; an empty list stands for no warning at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warns: Option<Vec<String>>,
}

impl TryFrom<WrittenValues> for SettingsExpect {
    type Error = String;

    fn try_from(written: WrittenValues) -> Result<Self, String> {
        let WrittenValues { values, warns } = written;
        if values.is_empty() && warns.is_none() {
            return Err("settings names members in `values`, or `warns`".to_owned());
        }
        let mut whole = serde_json::to_value(EffectiveSettings::default())
            .map_err(|error| error.to_string())?;
        lay_over(&mut whole, &Value::Object(values.clone()));
        serde_json::from_value::<EffectiveSettings>(whole)
            .map_err(|error| format!("settings.values: {error}"))?;
        Ok(Self { values, warns })
    }
}

impl From<SettingsExpect> for WrittenValues {
    fn from(expect: SettingsExpect) -> Self {
        Self { values: expect.values, warns: expect.warns }
    }
}

fn lay_over(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                lay_over(below.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}

/// The expected decision on a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskExpect {
    /// The decision: run, ask or deny.
    pub decision: Permission,
    /// The basis of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AskBy>,
    /// True if the sandbox holds the command.
    pub sandboxed: bool,
    /// The pattern that takes it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypassed_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{values: {active: true, network: {http_proxy_port: 80}}}")]
    #[case("{warns: []}")]
    fn expectations_survive_a_round_trip(#[case] yaml: &str) {
        let expect: SettingsExpect = crate::load::fragment(yaml).unwrap();
        let json = serde_json::to_value(&expect).unwrap();
        assert_eq!(serde_json::from_value::<SettingsExpect>(json).unwrap(), expect);
    }

    #[rstest]
    #[case("{values: {aktive: true}}")]
    #[case("{values: {network: {http_port: 80}}}")]
    #[case("{values: {active: 1}}")]
    #[case("{}")]
    #[case("{values: {active: true}, warn: []}")]
    fn what_is_no_member_is_refused(#[case] yaml: &str) {
        assert!(crate::load::fragment::<SettingsExpect>(yaml).is_err());
    }
}
