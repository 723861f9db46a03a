//! The expected results on a channel: receipts, answers, findings, and texts that must be absent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The expected result of the steps. Members that are left out are not compared. Two things always
/// hold: every chain verifies, and nothing outlives the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiptsExpect {
    /// Exactly these receipts, in their order; that of the daemon's start is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipts: Option<Vec<ReceiptExpect>>,
    /// True if the receipts may come in any order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_order: bool,
    /// The number of receipts, if they are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// The expected form of every receipt of `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<ReceiptExpect>,
    /// Number of the step, from 1 → what is answered to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, AnswerExpect>,
    /// True if the agent sees status, headers and every byte as without the channel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_as_direct: bool,
    /// Texts that are absent from the daemon's store, its exports and its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Texts that reach execd.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reaches_execd: Vec<String>,
    /// Texts that some part tells its operator, in upper or lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator: Vec<String>,
    /// The findings of the harness's own verifier in strict mode; by default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// True if the proxy's environment, arguments, files and memory lack the signing key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keyless: bool,
    /// The bits of the daemon's socket, such as 660.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_mode: Option<String>,
    /// The number of chains besides the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chains: Option<usize>,
    /// Milliseconds within which every answer must have come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// True if the case promises that something does not happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denies: bool,
}

/// One receipt. In `input` and `output`, `{sha256: TEXT}` stands for the hash of a text,
/// `{canonical: VALUE}` for that of a value, `{events: […]}` for that of events one after the
/// other, and `{io: [STDIN, STDOUT, STDERR]}` for that of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiptExpect {
    /// The action's type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The risk, or a higher one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// The outcome's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The input of `parameters_hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// A value that is not the input of `parameters_hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_input: Option<Value>,
    /// `parameters_hash` itself; `absent` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters_hash: Option<String>,
    /// The input of `response_hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// `response_hash` itself; `absent` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_hash: Option<String>,
    /// The family of the route; `absent` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The sandbox that it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The count of dropped events; `0` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<i64>,
    /// True if the outcome has an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<bool>,
    /// Receipts with one word here share a correlation id, and no others have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlated: Option<String>,
    /// A text that the target's system and resource have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// True if the receipt is anchored in the daemon's own chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchored: Option<bool>,
    /// The sequence number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The way in which the receipt ends its chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
    /// The peer process that the daemon saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Peer>,
    /// JSON pointer → value of any member; null for absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<String, Value>,
}

/// The peer process that the daemon saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// The relay.
    Relay,
    /// The harness itself.
    Harness,
}

/// The expected answer to a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerExpect {
    /// These statuses fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
    /// No connection comes about, or no answer (TLS failure), fits as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_no_connection: bool,
    /// Texts that the body has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Texts that it lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The exit code of a verifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

/// The findings of a strict verifier, in the words of a case.
pub const FINDINGS: &[&str] = &[
    "bad_signature",
    "bad_link",
    "bad_sequence",
    "bad_genesis",
    "malformed",
    "duplicate_id",
    "issuer_change",
    "time_reversal",
    "chain_reopened",
    "status_without_terminal",
    "bad_status",
    "proof_purpose",
    "verification_method",
    "null_member",
    "null_hash",
    "duplicate_key",
    "not_canonical",
    "bad_anchor",
    "second_anchor",
    "no_anchor",
    "lone_drop",
    "drop_without_count",
    "incomplete_session",
    "orphan_close",
    "duplicate_open",
    "duplicate_close",
    "close_before_open",
    "unbound",
    "wrong_binding",
    "risk_lowered",
    "unknown_without_target",
    "no_peer",
];

impl ReceiptsExpect {
    /// Returns whether the case promises that something does not happen.
    pub fn is_negative(&self) -> bool {
        let nothing = self.count == Some(0) || self.receipts.as_ref().is_some_and(Vec::is_empty);
        self.denies || nothing || !self.absent.is_empty() || !self.findings.is_empty()
    }

    /// Returns whether there is no expectation at all.
    pub fn is_empty(&self) -> bool {
        *self == Self { denies: self.denies, ..Self::default() }
    }
}
