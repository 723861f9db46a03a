//! The answers of the verbs that only answer: `check`, `effective`, `validate`, `compile`,
//! `explain`, `settings`, `decide-ask`, `status`, `grants` and `executor`. A missing answer is
//! never a denial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AskDecision, Compiled, EffectiveSettings, ExecutorStart, Explanation, InferredGrants, Status,
    WirePath,
};

/// The answer to a question about a policy: the content of `--result FILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyAnswer {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The answer.
    pub answer: DocumentAnswer,
}

/// The answer to a question about documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentAnswer {
    /// `check`: one decision a path, in the order of the request.
    Decisions(Vec<PathAnswer>),
    /// `effective`: the profile as it is in force.
    Effective(EffectiveProfile),
    /// `validate`: the documents are in order.
    Valid {},
    /// `settings`: the effective settings.
    Settings(Box<EffectiveSettings>),
    /// `decide-ask`: one decision a command, in the order of the request.
    Asks(Vec<AskDecision>),
    /// `explain`: why the run failed, if the sandbox is why.
    Explained(Explanation),
    /// `status`: the status of a sandbox block.
    Status(Box<Status>),
    /// `grants`: the grants inferred from each line, in the order of the request.
    Grants(Vec<InferredGrants>),
    /// `executor`: the start of an agent.
    Starts(Box<ExecutorStart>),
    /// `compile`: the text.
    Compiled(Compiled),
    /// Any of them: documents or profile are not in order, and nothing is decided.
    Invalid(PolicyFault),
}

/// The decision on one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathAnswer {
    /// The operation is allowed or denied.
    Decided(PathDecision),
    /// The path is no path of the workspace, for this reason: neither allowed nor denied.
    Invalid(String),
}

/// A decision, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathDecision {
    /// True if the operation is allowed.
    pub allowed: bool,
    /// The last rule that matches, without `!`; `<no matching rule>`, `[]` (nothing is granted) or
    /// `<outside workspace>`.
    pub matched_rule: String,
    /// The path after resolution on the disk, relative to the workspace; absolute if it lies
    /// outside.
    pub means: WirePath,
    /// The rule that decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<RuleInForce>,
    /// A warning for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// One rule, and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleInForce {
    /// The rule as written.
    pub rule: String,
    /// The effect of the rule where it decides.
    pub effect: RuleEffect,
    /// The origin of the rule.
    pub origin: RuleOrigin,
    /// The document's name; none for a rule that no document says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The effect of a rule where it decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// The rule allows.
    Allows,
    /// The rule denies.
    Denies,
    /// The rule gives back what an earlier deny took, as far as the profile grants it.
    LiftsADeny,
}

/// The origin of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleOrigin {
    /// The profile itself.
    Profile,
    /// A deny of the host's document.
    GlobalDeny,
    /// A deny of the workspace's document.
    WorkspaceDeny,
    /// The profile that exists even if no document has it.
    Fallback,
}

/// A profile as it is in force: its own rules, then every deny.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveProfile {
    /// The policy's name.
    pub policy: String,
    /// The profile's name.
    pub profile: String,
    /// The rules of reading, in the order of evaluation.
    pub read: Vec<RuleInForce>,
    /// The rules of modifying.
    pub modify: Vec<RuleInForce>,
}

/// A fault in documents, and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFault {
    /// One sentence.
    pub message: String,
    /// The document's name, where one is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column there in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::valid(r#"{"protocol":1,"answer":{"valid":{}}}"#)]
    #[case::fault(
        r#"{"protocol":1,"answer":{"invalid":{"message":"m","file":"f","line":2,"column":3}}}"#
    )]
    #[case::decided(
        r#"{"protocol":1,"answer":{"decisions":[{"decided":{"allowed":false,"matched_rule":"[]","means":"a"}},{"invalid":"no path"}]}}"#
    )]
    #[case::effective(
        r#"{"protocol":1,"answer":{"effective":{"policy":"d","profile":"p","read":[{"rule":"**","effect":"allows","origin":"fallback"}],"modify":[]}}}"#
    )]
    fn answers_survive_a_round_trip(#[case] json: &str) {
        let answer: PolicyAnswer = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
    }

    #[rstest]
    #[case::two(r#"{"protocol":1,"answer":{"valid":{},"invalid":{"message":"m"}}}"#)]
    #[case::unknown(r#"{"protocol":1,"answer":{"valid":{}},"more":1}"#)]
    #[case::inner(r#"{"protocol":1,"answer":{"invalid":{"message":"m","lien":1}}}"#)]
    #[case::none(r#"{"protocol":1}"#)]
    fn what_is_no_answer_is_refused(#[case] json: &str) {
        assert!(serde_json::from_str::<PolicyAnswer>(json).is_err());
    }
}
