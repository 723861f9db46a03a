//! Provenance: a receipt counts as the daemon's only if it names the process that the daemon saw.

use serde::Serialize;
use serde_json::Value;

use super::file::ReceiptLine;

/// Receipts that do not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProvenanceReport {
    /// Lines without a peer credential.
    pub missing: Vec<usize>,
    /// Lines with one that cannot be read.
    pub malformed: Vec<usize>,
}

/// The types of receipts that the daemon writes by itself, without a connection.
const OWN: [&str; 2] = ["agent_receipts.daemon_started", "agent_receipts.chain_interrupted"];

impl ProvenanceReport {
    /// Checks all receipts but the daemon's own.
    pub(super) fn from_lines<'a>(lines: impl Iterator<Item = &'a ReceiptLine>) -> Self {
        let mut found = Self::default();
        for ReceiptLine { number, receipt } in lines {
            let kind = receipt.body.subject.action.kind.as_str();
            match receipt.value.pointer("/credentialSubject/action/peer_credential") {
                None | Some(Value::Null) if OWN.contains(&kind) => {}
                None | Some(Value::Null) if fault!("receipts.provenance-missing") => {}
                None | Some(Value::Null) => found.missing.push(*number),
                Some(peer) if is_whole(peer) || fault!("receipts.provenance-malformed") => {}
                Some(_) => found.malformed.push(*number),
            }
        }
        found
    }
}

/// A platform that is not known here has members of its own.
fn is_whole(peer: &Value) -> bool {
    let number = |name: &str| peer.get(name).is_some_and(Value::is_u64);
    match peer.get("platform").and_then(Value::as_str) {
        None | Some("") => false,
        Some("linux" | "darwin") => ["pid", "uid", "gid"].into_iter().all(number),
        Some(_) => true,
    }
}
