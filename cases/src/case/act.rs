//! Acts: the attempts of a case.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Channel, PolicyQuery};
use crate::protocol::CompileTarget;

/// The act of a step: a probe, a shell line, an argument vector, a question, or steps on a receipts
/// channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A native probe and its arguments; it reports an observation.
    Probe {
        /// The probe's name, as in `boxprobe --list`.
        probe: String,
        /// Argument name → values, in order.
        args: BTreeMap<String, Vec<String>>,
    },
    /// A line for `/bin/sh -c`; only oracles judge it.
    Sh(String),
    /// A program and its arguments; only oracles judge it.
    Argv(Vec<String>),
    /// A question about policy documents; nothing is run.
    Decide(PolicyQuery),
    /// Steps on a receipts channel.
    Receipts(Box<Channel>),
}

impl Act {
    /// Every string that may hold a variable. A question about documents is taken literally.
    pub fn strings(&self) -> Vec<&str> {
        match self {
            Self::Probe { args, .. } => args.values().flatten().map(String::as_str).collect(),
            Self::Sh(line) => vec![line],
            Self::Argv(argv) => argv.iter().map(String::as_str).collect(),
            Self::Decide(PolicyQuery::Explain(ended)) => ended.strings(),
            Self::Decide(PolicyQuery::Compile(_, attempt)) => vec![&attempt.object],
            Self::Decide(_) | Self::Receipts(_) => Vec::new(),
        }
    }

    /// The question, if it is one.
    pub fn question(&self) -> Option<&PolicyQuery> {
        match self {
            Self::Decide(question) => Some(question),
            _ => None,
        }
    }

    /// Returns the receipts channel of the act, if it has one.
    pub fn channel(&self) -> Option<&Channel> {
        match self {
            Self::Receipts(channel) => Some(channel),
            _ => None,
        }
    }

    /// Returns whether a probe makes the attempt, so that there is an observation to expect.
    pub fn is_probe(&self) -> bool {
        matches!(self, Self::Probe { .. })
    }
}

/// A scalar or a list of scalars, all kept as text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an argument is a text, a number, true or false, or a list of them")]
enum ActArgument {
    One(ArgumentScalar),
    Many(Vec<ArgumentScalar>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an argument is a text, a number, true or false, or a list of them")]
enum ArgumentScalar {
    Bool(bool),
    Int(i64),
    Text(String),
}

impl fmt::Display for ArgumentScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<ActArgument> for Vec<String> {
    fn from(arg: ActArgument) -> Self {
        match arg {
            ActArgument::One(one) => vec![one.to_string()],
            ActArgument::Many(many) => many.iter().map(ToString::to_string).collect(),
        }
    }
}

struct ActVisitor;

impl<'de> de::Visitor<'de> for ActVisitor {
    type Value = Act;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{probe: NAME, …}, {sh: \"…\"}, {argv: […]}, {decide: …}, {compile: …} or {receipts: …}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Act, A::Error> {
        let mut args: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut channel = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "receipts" {
                channel = Some(map.next_value::<Box<Channel>>()?);
                continue;
            }
            let value: ActArgument = map.next_value().map_err(|_| {
                de::Error::custom(format!("`{key}` is a text, a number, a truth value or a list"))
            })?;
            args.insert(key, value.into());
        }
        match channel {
            Some(channel) if args.is_empty() => Ok(Act::Receipts(channel)),
            Some(_) => Err(de::Error::custom("receipts stands alone in an act")),
            None => act_of(args).map_err(de::Error::custom),
        }
    }
}

fn act_of(mut args: BTreeMap<String, Vec<String>>) -> Result<Act, String> {
    if let Some(what) = args.remove("decide") {
        return PolicyQuery::written(&one("decide", what)?, args).map(Act::Decide);
    }
    if let Some(target) = args.remove("compile") {
        return PolicyQuery::compiled(&one("compile", target)?, args).map(Act::Decide);
    }
    let (probe, sh, argv) = (args.remove("probe"), args.remove("sh"), args.remove("argv"));
    let act = match (probe, sh, argv) {
        (Some(probe), None, None) => return Ok(Act::Probe { probe: one("probe", probe)?, args }),
        (None, Some(sh), None) => Act::Sh(one("sh", sh)?),
        (None, None, Some(argv)) if !argv.is_empty() => Act::Argv(argv),
        _ => {
            let known = "probe, sh, argv, decide, compile and receipts";
            return Err(format!("an act is exactly one of {known}"));
        }
    };
    match args.into_keys().next() {
        Some(key) => Err(format!("unknown field `{key}`: sh and argv stand alone")),
        None => Ok(act),
    }
}

fn one(key: &str, values: Vec<String>) -> Result<String, String> {
    <[String; 1]>::try_from(values)
        .map(|[value]| value)
        .map_err(|_| format!("`{key}` is one text, not a list"))
}

impl<'de> Deserialize<'de> for Act {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ActVisitor)
    }
}

impl Serialize for Act {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Probe { probe, args } => {
                map.serialize_entry("probe", probe)?;
                for (key, values) in args {
                    match values.as_slice() {
                        [value] => map.serialize_entry(key, value)?,
                        values => map.serialize_entry(key, values)?,
                    }
                }
            }
            Self::Sh(line) => map.serialize_entry("sh", line)?,
            Self::Argv(argv) => map.serialize_entry("argv", argv)?,
            Self::Decide(PolicyQuery::Compile(target, attempt)) => {
                map.serialize_entry("compile", target.keyword())?;
                map.serialize_entry(attempt.deed.keyword(), &attempt.object)?;
            }
            Self::Receipts(channel) => map.serialize_entry("receipts", channel)?,
            Self::Decide(question) => {
                map.serialize_entry("decide", question.keyword())?;
                for (name, value) in question.details() {
                    map.serialize_entry(name, &value)?;
                }
                if let PolicyQuery::Explain(ended) = question {
                    ended.members().iter().try_for_each(|(key, v)| map.serialize_entry(key, v))?;
                }
            }
        }
        map.end()
    }
}

impl JsonSchema for Act {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Act".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let channel = generator.subschema_for::<Channel>();
        let scalar = serde_json::json!({ "type": ["string", "integer", "boolean"] });
        schemars::json_schema!({
            "description": "What tries the thing: a probe, a shell line or an argument vector; or a question.",
            "type": "object",
            "oneOf": [
                { "required": ["probe"], "properties": { "probe": { "type": "string" } },
                  "not": { "anyOf": [{ "required": ["sh"] }, { "required": ["argv"] },
                      { "required": ["decide"] }, { "required": ["compile"] },
                      { "required": ["receipts"] }] },
                  "additionalProperties": {
                      "anyOf": [scalar, { "type": "array", "items": scalar }] } },
                { "required": ["sh"], "properties": { "sh": { "type": "string" } },
                  "additionalProperties": false },
                { "required": ["argv"], "additionalProperties": false,
                  "properties": { "argv": { "type": "array", "items": scalar, "minItems": 1 } } },
                { "required": ["receipts"], "properties": { "receipts": channel },
                  "additionalProperties": false },
                { "required": ["decide", "path"], "additionalProperties": false,
                  "properties": { "decide": { "enum": ["read", "modify"] }, "path": scalar } },
                { "required": ["compile"], "additionalProperties": false,
                  "minProperties": 2, "maxProperties": 2,
                  "properties": { "compile": { "enum": CompileTarget::ALL.map(CompileTarget::keyword) },
                      "read": scalar, "write": scalar, "create": scalar, "remove": scalar,
                      "move": scalar, "run": scalar, "connect": scalar, "lookup": scalar } },
                { "required": ["decide"], "additionalProperties": false,
                  "properties": { "decide": { "enum": ["effective", "validate", "status", "settings"] } } },
                { "required": ["decide"], "additionalProperties": false,
                  "properties": { "decide": { "const": "explain" }, "sh": { "type": "string" },
                      "argv": { "type": "array", "items": scalar, "minItems": 1 },
                      "exit": { "type": "integer" }, "signal": { "type": "integer" },
                      "refused_routes": { "type": "integer", "minimum": 0 },
                      "original": { "type": "string" }, "stdout": { "type": "string" },
                      "stderr": { "type": "string" } },
                  "oneOf": [{ "required": ["sh"] }, { "required": ["argv"] }],
                  "anyOf": [{ "required": ["exit"] }, { "required": ["signal"] }] },
                { "required": ["decide", "line"], "additionalProperties": false,
                  "properties": { "decide": { "const": "grants" }, "line": scalar } },
                { "required": ["decide", "command"], "additionalProperties": false,
                  "properties": { "decide": { "const": "ask" }, "command": scalar,
                      "rules": { "enum": ["allow", "ask", "deny"] },
                      "plan": { "type": "boolean" } } },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{probe: write, path: a, text: 7}", r#"{"probe":"write","path":"a","text":"7"}"#)]
    #[case(
        "{probe: open, path: a, flags: [rdwr, creat]}",
        r#"{"probe":"open","flags":["rdwr","creat"],"path":"a"}"#
    )]
    #[case("{sh: 'exit 7'}", r#"{"sh":"exit 7"}"#)]
    #[case("{argv: [echo, 1, true]}", r#"{"argv":["echo","1","true"]}"#)]
    #[case("{decide: read, path: $HOME/x}", r#"{"decide":"read","path":"$HOME/x"}"#)]
    #[case(
        "{decide: explain, sh: touch a, exit: 1, stderr: x}",
        r#"{"decide":"explain","sh":"touch a","exit":1,"stderr":"x"}"#
    )]
    #[case("{decide: settings}", r#"{"decide":"settings"}"#)]
    #[case(
        "{decide: ask, command: git x, plan: true}",
        r#"{"decide":"ask","command":"git x","rules":"ask","plan":"true"}"#
    )]
    #[case("{decide: validate}", r#"{"decide":"validate"}"#)]
    #[case("{compile: seatbelt, write: $WS/a}", r#"{"compile":"seatbelt","write":"$WS/a"}"#)]
    fn reads_and_writes(#[case] yaml: &str, #[case] json: &str) {
        let act: Act = crate::load::fragment(yaml).unwrap();
        assert_eq!(serde_json::to_string(&act).unwrap(), json);
        assert_eq!(serde_json::from_str::<Act>(json).unwrap(), act);
    }

    #[rstest]
    #[case("{sh: x, argv: [y]}", "exactly one")]
    #[case("{}", "exactly one")]
    #[case("{argv: []}", "exactly one")]
    #[case("{sh: x, path: y}", "unknown field `path`")]
    #[case("{sh: [x, y]}", "one text")]
    #[case("{decide: explain, exit: 1}", "one of sh and argv")]
    #[case("{decide: explain, sh: a}", "one of exit and signal")]
    #[case("{decide: explain, sh: a, exit: one}", "is a number")]
    #[case("{decide: explain, sh: a, exit: 1, path: x}", "unknown field")]
    #[case("{decide: read}", "names its path")]
    #[case("{decide: validate, path: x}", "unknown field `path`")]
    #[case("{decide: read, path: x, sh: y}", "unknown field `sh`")]
    #[case("{decide: write, path: x}", "status, executor or grants")]
    #[case("{decide: settings, path: x}", "unknown field `path`")]
    #[case("{decide: ask}", "names its command")]
    #[case("{decide: ask, command: x, rules: maybe}", "use allow, ask or deny")]
    #[case("{decide: ask, command: x, plan: 1}", "use true or false")]
    #[case("{decide: ask, command: x, rule: ask}", "unknown field `rule`")]
    #[case("{compile: chroot, read: x}", "bubblewrap or seatbelt")]
    #[case("{compile: seatbelt}", "one deed")]
    #[case("{compile: seatbelt, read: x, write: y}", "one deed")]
    #[case("{compile: seatbelt, smell: x}", "no deed")]
    #[case("{compile: seatbelt, read: [x, y]}", "one thing")]
    #[case("{probe: w, probe: w}", "duplicate key `probe`")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<Act>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
