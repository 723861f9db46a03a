//! Chains that a verifier is asked about: a good one, and how it differs from that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A chain for the channel's verifier.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyStep {
    /// The number of receipts in the good chain.
    #[serde(default = "three")]
    pub length: usize,
    /// The text of the whole file, instead of a chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The key file that the verifier is given, instead of that of the chain's own key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyFile>,
    /// The changes of the good chain, applied one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<ChainEdit>,
    /// True if the verifier is strict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The expected length that the verifier is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_length: Option<usize>,
    /// The expected hash of the last receipt that the verifier is given: the true one of the good
    /// chain, or another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_final_hash: Option<GivenHash>,
    /// The response that is supplied for each receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// True if each receipt must name the process that the daemon saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provenance: bool,
    /// True if the chain must have a terminal receipt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_terminal: bool,
}

fn three() -> usize {
    3
}

/// A hash that a verifier is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GivenHash {
    /// The true one.
    Right,
    /// Another one.
    Wrong,
}

/// A key file that a verifier is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyFile {
    /// Another key.
    Other,
    /// The chain's own key as DER.
    Der,
    /// This text.
    Text(String),
    /// The key that these 32 bytes are, in hexadecimal.
    Point(String),
}

/// One change of a chain. Places count from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainEdit {
    /// A member is another one, signed as it was.
    Set(ReceiptMember),
    /// A member is another one before anything is signed, and what follows is chained to that.
    Make(ReceiptMember),
    /// A receipt is left out.
    Drop(usize),
    /// Two neighbours change places.
    Swap(usize),
    /// A receipt occurs twice.
    Repeat(usize),
    /// Only this many are left.
    Keep(usize),
    /// A receipt is signed by another key.
    Forge(usize),
    /// A receipt says that another key signs what follows, and it does.
    Rotate(KeyRotation),
    /// A line is another text.
    Line(LineEdit),
    /// A signature is another one.
    Signature(SignatureEdit),
}

/// A signature that no signer makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignatureEdit {
    /// The index of the receipt.
    pub at: usize,
    /// The form of the signature.
    pub form: SignatureForm,
}

/// A form of signature that a verifier must not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignatureForm {
    /// The right one with the order of the group added to its second half.
    HighS,
    /// The identity, then zero: it fits every text under a key of small order.
    Identity,
}

/// A change of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRotation {
    /// The receipt that says so.
    pub at: usize,
    /// True if the receipt gives a wrong fingerprint of the old key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wrong_fingerprint: bool,
}

/// A member of one receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiptMember {
    /// The index of the receipt.
    pub at: usize,
    /// The member, as a JSON pointer.
    pub member: String,
    /// The member's value; without one the member is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// True if the member's value is null.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub null: bool,
}

/// A line of the exported text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineEdit {
    /// The index of the line.
    pub at: usize,
    /// The text that is replaced.
    pub from: String,
    /// The replacement.
    pub to: String,
}
