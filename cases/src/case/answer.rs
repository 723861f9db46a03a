//! The expected answer to a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AskExpect, GrantsExpect, SettingsExpect, StartExpect, StatusExpect, TextExpect};
use crate::protocol::{Permission, RuleEffect, RuleOrigin};

/// The answer that a case asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The path is allowed.
    Allowed(ByRule),
    /// The path is denied.
    Denied(ByRule),
    /// There is no decision: documents, profile or path are wrong.
    Invalid(QuestionFault),
    /// The documents are in order.
    Valid {},
    /// The profile in force has these rules.
    Effective(Rules),
    /// The settings have these effective values.
    Settings(SettingsExpect),
    /// The command gets this decision.
    Ask(AskExpect),
    /// The sandbox is why the run failed, by this rule; `none` if it is not.
    Blocked(BlockedExpect),
    /// The block has this status.
    Status(StatusExpect),
    /// The agent is started in this way.
    Starts(StartExpect),
    /// The line grants itself this.
    Grants(GrantsExpect),
    /// The compiled text lets it be done, and has these pieces.
    Permits(TextExpect),
    /// The compiled text does not let it be done, and has these pieces.
    Forbids(TextExpect),
}

impl Answer {
    /// The word a case uses for it.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Allowed(_) => "allowed",
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Valid {} => "valid",
            Self::Effective(_) => "effective",
            Self::Settings(_) => "settings",
            Self::Ask(_) => "ask",
            Self::Blocked(_) => "blocked",
            Self::Status(_) => "status",
            Self::Starts(_) => "starts",
            Self::Grants(_) => "grants",
            Self::Permits(_) => "permits",
            Self::Forbids(_) => "forbids",
        }
    }

    /// Returns whether the answer keeps something from being granted.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Denied(_)
            | Self::Invalid(_)
            | Self::Blocked(BlockedExpect::By(_))
            | Self::Forbids(_) => true,
            Self::Ask(ask) => ask.decision != Permission::Allow,
            Self::Status(status) => status.is_negative(),
            Self::Grants(grants) => grants.granted.is_empty(),
            _ => false,
        }
    }
}

/// The expected answer to whether the sandbox made a run fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "what blocked it is none, or {rule, operation, path, contains, lacks}"
)]
pub enum BlockedExpect {
    /// The sandbox is not the reason.
    Not(NoDenial),
    /// The sandbox is the reason, with this denial.
    By(ByDenial),
}

/// The word for no denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoDenial {
    /// Nothing was denied.
    None,
}

/// A denial; members that are left out are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByDenial {
    /// The rule.
    pub rule: String,
    /// The operation that was attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The path of the attempt; `$WS` and the variables of other directories may occur.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Texts that are in its reason, its suggestion or its path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Texts that are nowhere in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}

/// The basis of a decision: the matched rule alone, or more details of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenRule", into = "WrittenRule")]
#[schemars(with = "WrittenRule")]
pub struct ByRule {
    /// The matched rule, without `!`, or what stands for none.
    pub rule: String,
    /// The path after resolution on the disk; `$OUT` and the variables of other directories may
    /// occur.
    pub means: Option<String>,
    /// The origin of the rule.
    pub origin: Option<RuleOrigin>,
    /// The document that has the rule.
    pub file: Option<String>,
    /// The line of the rule there, from 1.
    pub line: Option<u32>,
    /// A text that the warning has; an empty one stands for no warning.
    pub warning: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a decision is the rule that made it, as a text, or {rule: …} and what else is looked at"
)]
enum WrittenRule {
    /// The matched rule.
    Rule(String),
    /// The matched rule, and further members to compare.
    More(Box<RuleAndMore>),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleAndMore {
    /// The matched rule, without `!`, or what stands for none.
    rule: String,
    /// The path after resolution on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    means: Option<String>,
    /// The origin of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<RuleOrigin>,
    /// The document that has the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line of the rule there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// A text that the warning has; an empty one stands for no warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl From<WrittenRule> for ByRule {
    fn from(written: WrittenRule) -> Self {
        match written {
            WrittenRule::Rule(rule) => Self { rule, ..Self::default() },
            WrittenRule::More(more) => {
                let RuleAndMore { rule, means, origin, file, line, warning } = *more;
                Self { rule, means, origin, file, line, warning }
            }
        }
    }
}

impl From<ByRule> for WrittenRule {
    fn from(by: ByRule) -> Self {
        let ByRule { rule, means, origin, file, line, warning } = by;
        Self::More(Box::new(RuleAndMore { rule, means, origin, file, line, warning }))
    }
}

/// A fault in documents, profile or path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionFault {
    /// The whole message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Texts that the message has, where its words are not laid down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// The document that is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column there in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl QuestionFault {
    /// Returns whether the fault names any text of the message.
    pub fn is_told(&self) -> bool {
        self.message.is_some() || !self.contains.is_empty()
    }
}

/// The rules of a profile in force, all of them and in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The rules of reading.
    pub read: Vec<RuleExpect>,
    /// The rules of modifying.
    pub modify: Vec<RuleExpect>,
}

/// One rule in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleExpect {
    /// The rule as written.
    pub rule: String,
    /// The effect of the rule where it decides.
    pub effect: RuleEffect,
    /// The origin of the rule.
    pub origin: RuleOrigin,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{allowed: 'src/**'}", "allowed", false)]
    #[case("{denied: {rule: '[]', means: a, line: 3}}", "denied", true)]
    #[case("{invalid: {message: m, line: 2, column: 1}}", "invalid", true)]
    #[case("{valid: {}}", "valid", false)]
    #[case("{blocked: none}", "blocked", false)]
    #[case("{blocked: {rule: read_denied, path: a}}", "blocked", true)]
    #[case("{grants: {granted: [git_metadata_write]}}", "grants", false)]
    #[case("{grants: {granted: [], subcommand: reset}}", "grants", true)]
    #[case("{permits: {}}", "permits", false)]
    #[case("{forbids: {}}", "forbids", true)]
    #[case(
        "{effective: {read: [{rule: a, effect: denies, origin: global_deny}], modify: []}}",
        "effective",
        false
    )]
    fn survives_a_round_trip(#[case] yaml: &str, #[case] word: &str, #[case] negative: bool) {
        let answer: Answer = crate::load::fragment(yaml).unwrap();
        assert_eq!((answer.keyword(), answer.is_negative()), (word, negative));
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(serde_json::from_value::<Answer>(json).unwrap(), answer);
    }

    #[rstest]
    #[case("{denied: {means: a}}")]
    #[case("{denied: {rule: a, lien: 1}}")]
    #[case("{valid: {}, denied: a}")]
    #[case("{invalid: {mesage: m}}")]
    #[case("{effective: {read: []}}")]
    #[case("{blocked: {path: a}}")]
    #[case("{blocked: nothing}")]
    #[case("{perhaps: {}}")]
    fn refuses(#[case] yaml: &str) {
        assert!(crate::load::fragment::<Answer>(yaml).is_err());
    }
}
