//! A case file as written: the closed schema that one YAML file per behaviour follows.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    Act, DuringEvent, Exclusive, Expect, FixtureEntry, HostNeed, HostPlatform, Launcher, Level,
    PolicySpec, Row, RunSpec,
};
use crate::capability::Capability;
use crate::requirement::RequirementId;

/// Time after which an arm is given up unless the case says otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 20_000;

/// One behaviour, as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "boxproof case")]
pub struct CaseFile {
    /// One sentence in the present tense: the required behaviour.
    pub purpose: String,
    /// The requirement it tests, or a list.
    #[serde(deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany")]
    pub requirement: Vec<RequirementId>,
    /// The level of the case, in the terms of RFC 2119.
    #[serde(default)]
    pub level: Level,
    /// Public reports it grew from (CVE-…, owner/repo#n).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The platforms that the case applies to; by default all.
    #[serde(default = "everywhere")]
    pub platforms: Vec<HostPlatform>,
    /// Facts the host must have, such as `userns` or `node >= 22.21`; without one the case is not
    /// applicable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<HostNeed>,
    /// Capabilities the backend must claim; without one the case is unsupported. Unless `about`
    /// says otherwise the last one is what the case is about, and the others only make it possible
    /// to ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Capability>,
    /// The claims that a failure speaks against, each of them in `needs`; none where no claim
    /// promises what the case asks. By default the last one of `needs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Vec<Capability>>,
    /// Host state it shares; never two cases of one word at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<Exclusive>,
    /// Over 2 s of CPU: not in the default run.
    #[serde(default)]
    pub slow: bool,
    /// Time after which an arm is given up, in milliseconds.
    #[serde(default = "timeout_ms")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    /// About how long an arm waits, in milliseconds: it needs no CPU meanwhile. By default what
    /// `run`, `during` and `expect.times` show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_ms: Option<u64>,
    /// The files that are laid out, path → entry; relative paths lie below the workspace.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixture: BTreeMap<String, FixtureEntry>,
    /// A shell line that finishes the fixture, unconfined, in the workspace. It must exit 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// The launcher's side.
    #[serde(default, skip_serializing_if = "Launcher::is_plain")]
    pub launcher: Launcher,
    /// The content of the command's descriptor 0; by default nothing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "super::stdin::written"
    )]
    #[schemars(with = "Option<super::stdin::StdinText>")]
    pub stdin: Option<String>,
    /// The policy under test.
    #[serde(default)]
    pub policy: PolicySpec,
    /// The request by which a native backend runs the command.
    #[serde(default, skip_serializing_if = "RunSpec::is_plain")]
    pub run: RunSpec,
    /// The act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Act>,
    /// Several acts in one workspace, in order; the last one is judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepFile>,
    /// The number of times the (last) act is done, one after the other.
    #[serde(default = "once")]
    pub repeat: u32,
    /// The number of the (last) acts that are done at once.
    #[serde(default = "once")]
    pub parallel: u32,
    /// The events at the backend meanwhile, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<DuringEvent>,
    /// The expected result.
    pub expect: Expect,
    /// The proof that the act is possible without the sandbox.
    #[serde(default)]
    pub control: Control,
    /// The proof that the act is possible in the sandbox under a wider policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Twin>,
    /// Named parameter sets: each row is a case of its own, `id/row`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: BTreeMap<String, Row>,
}

/// A requirement, or a list of them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    /// One.
    One(RequirementId),
    /// Several.
    Many(Vec<RequirementId>),
}

pub(super) fn one_or_many<'de, D>(deserializer: D) -> Result<Vec<RequirementId>, D::Error>
where
    D: Deserializer<'de>,
{
    match OneOrMany::deserialize(deserializer) {
        Ok(OneOrMany::One(id)) => Ok(vec![id]),
        Ok(OneOrMany::Many(ids)) if !ids.is_empty() => Ok(ids),
        _ => Err(de::Error::custom("a requirement id such as R-fs-write, or a list of them")),
    }
}

fn everywhere() -> Vec<HostPlatform> {
    vec![HostPlatform::Linux, HostPlatform::Macos]
}

fn timeout_ms() -> u64 {
    TIMEOUT_MS
}

fn once() -> u32 {
    1
}

/// One act of a sequence, as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// The act.
    pub act: Act,
    /// Policy keys that differ in this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicySpec>,
    /// True if this step may fail without making the case inconclusive.
    #[serde(default)]
    pub may_fail: bool,
}

/// One act of a sequence, its policy worked out.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseStep {
    /// The act.
    pub act: Act,
    /// The policy it is done under.
    pub policy: PolicySpec,
    /// True if the step may fail without making the case inconclusive.
    pub may_fail: bool,
}

/// The proof that the act is possible without the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// The act runs as it is, on the host.
    #[default]
    Host,
    /// The act runs in a throw-away user, mount and pid namespace, on an equivalent object.
    PrivateNs,
    /// No control, for this reason.
    None(String),
}

/// The proof that the act is possible in the sandbox under a wider policy.
#[derive(Debug, Clone, PartialEq)]
pub enum Twin {
    /// The smallest wider policy: these keys replace those of the case.
    Overlay(Box<PolicySpec>),
    /// No twin, for this reason.
    None(String),
}

impl Serialize for Twin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Overlay(over) => over.serialize(serializer),
            Self::None(reason) => BTreeMap::from([("none", reason)]).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Twin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TwinVisitor;
        impl<'de> de::Visitor<'de> for TwinVisitor {
            type Value = Twin;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("policy keys, or {none: reason}")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Twin, A::Error> {
                let mut keys = serde_json::Map::new();
                while let Some((key, value)) = map.next_entry::<String, serde_json::Value>()? {
                    keys.insert(key, value);
                }
                twin_of(keys).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_map(TwinVisitor)
    }
}

fn twin_of(mut keys: serde_json::Map<String, serde_json::Value>) -> Result<Twin, String> {
    match (keys.remove("none"), keys.is_empty()) {
        (Some(serde_json::Value::String(reason)), true) => Ok(Twin::None(reason)),
        (Some(_), _) => Err("none stands alone and gives its reason as a text".to_owned()),
        (None, true) => Err("a twin names at least one policy key, or none with a reason".into()),
        (None, false) => {
            crate::load::reread(&keys.into()).map(|over| Twin::Overlay(Box::new(over)))
        }
    }
}

impl JsonSchema for Twin {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Twin".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let overlay = generator.subschema_for::<PolicySpec>();
        let none = serde_json::json!({
            "type": "object", "required": ["none"], "additionalProperties": false,
            "properties": { "none": { "type": "string", "description": "Why there is no twin." } },
        });
        schemars::json_schema!({ "anyOf": [overlay, none] })
    }
}
