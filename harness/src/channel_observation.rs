//! Observations of a channel: [`ChannelObservation`]. Facts only, no judgement.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that one arm of a channel case showed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChannelObservation {
    /// The secret word of this arm.
    pub nonce: String,
    /// Number of the step, from 1 → what was answered to it, once or as often as it was done.
    pub answers: BTreeMap<usize, Vec<ChannelAnswer>>,
    /// The events that did not come although a step waits for them, one sentence each.
    pub unmet: Vec<String>,
    /// Every exported receipt, as it was printed.
    pub lines: Vec<String>,
    /// The public key that must have signed them, in hex.
    pub key: String,
    /// The markers that were sent after the last step.
    pub markers: Vec<MarkerAction>,
    /// The reason why nothing can be learnt, where there is one.
    pub fault: Option<String>,
    /// Texts that should be nowhere, and where they are.
    pub disclosed: Vec<String>,
    /// Texts that should reach execd and did.
    pub reached: Vec<String>,
    /// Texts that a part should tell its operator and did.
    #[serde(default)]
    pub operator: Vec<String>,
    /// The places of the signing key in the proxy's reach.
    pub key_seen: Vec<String>,
    /// The reason why these places could not be searched, where there is one.
    pub key_unseen: Option<String>,
    /// The bits of the daemon's socket, in octal.
    pub socket_mode: Option<String>,
    /// The relay's process.
    pub relay: Option<u32>,
    /// The harness's process that spoke to the daemon.
    pub harness: u32,
    /// The processes that outlived the run, one sentence each.
    pub leaks: Vec<String>,
    /// The output of the parts.
    pub logs: String,
    /// Milliseconds from the first step to the last answer.
    pub duration_ms: f64,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChannelAnswer {
    /// The status; none if none came.
    pub status: Option<u16>,
    /// The headers that are not about the connection, lower case, sorted.
    pub headers: Vec<(String, String)>,
    /// The first part of the body, lossy text.
    pub body: String,
    /// The length of the whole body.
    pub bytes: u64,
    /// The hash of the whole body.
    pub sha256: String,
    /// The reason why it is not whole, where there is one.
    pub error: Option<String>,
    /// The exit code of a verifier.
    pub exit: Option<i32>,
    /// Milliseconds until the end of it.
    pub ms: f64,
}

/// A harmless action whose receipt shows that the channel was at work until the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkerAction {
    /// The hash of its parameters, by which its receipt is known.
    pub hash: String,
    /// The way by which it was sent.
    pub by: String,
    /// True if its receipt is there.
    pub arrived: bool,
}
