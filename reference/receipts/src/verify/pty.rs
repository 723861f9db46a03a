//! Terminal sessions: each opening has one closing, by sandbox and correlator.

use std::collections::BTreeMap;

use serde::Serialize;

use super::file::ReceiptLine;
use crate::parsed_receipt::ParsedReceipt;

/// A session that does not pair.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct UnpairedSession {
    /// `incomplete_session`, `orphan_close`, `duplicate_open`, `duplicate_close` or
    /// `close_before_open`.
    pub name: &'static str,
    /// The line of the receipt that it is about.
    pub line: usize,
    /// The sandbox.
    pub sandbox_id: String,
    /// The identifier of the session.
    pub correlator: String,
}

#[derive(Default)]
struct SessionEnds {
    opens: Vec<usize>,
    closes: Vec<usize>,
}

/// The sessions that do not pair, in the order of their lines.
pub(super) fn unpaired(lines: &[ReceiptLine]) -> Vec<UnpairedSession> {
    let mut sessions: BTreeMap<(String, String), SessionEnds> = BTreeMap::new();
    for ReceiptLine { number, receipt } in lines {
        let open = match receipt.body.subject.action.kind.as_str() {
            "system.pty.open" => true,
            "system.pty.close" => false,
            _ => continue,
        };
        let ends = sessions.entry((sandbox(receipt), correlator(receipt))).or_default();
        if open { ends.opens.push(*number) } else { ends.closes.push(*number) }
    }
    let told = sessions.into_iter().flat_map(|((sandbox_id, correlator), ends)| {
        ends.pairing_faults().into_iter().map(move |(name, line)| {
            let (sandbox_id, correlator) = (sandbox_id.clone(), correlator.clone());
            UnpairedSession { name, line, sandbox_id, correlator }
        })
    });
    let mut told: Vec<UnpairedSession> = told.collect();
    told.sort_by_key(|session| session.line);
    told
}

impl SessionEnds {
    fn pairing_faults(&self) -> Vec<(&'static str, usize)> {
        let pair = match (self.opens.first(), self.closes.first()) {
            (Some(open), None) => Some(("incomplete_session", *open)),
            (None, Some(close)) => Some(("orphan_close", *close)),
            (Some(open), Some(close)) if close < open => Some(("close_before_open", *close)),
            _ => None,
        };
        let more = |lines: &[usize], name: &'static str| -> Vec<(&'static str, usize)> {
            lines.iter().skip(1).map(|line| (name, *line)).collect()
        };
        let opens = more(&self.opens, "duplicate_open");
        let closes = more(&self.closes, "duplicate_close");
        pair.into_iter().chain(opens).chain(closes).collect()
    }
}

/// Returns a member of a receipt's binding, in either profile.
pub(super) fn binding<'a>(receipt: &'a ParsedReceipt, member: &str) -> Option<&'a str> {
    let body = &receipt.body;
    let runtime = body.issuer.runtime.as_ref().and_then(|runtime| runtime.get("binding"));
    body.subject.binding.as_ref().or(runtime)?.get(member)?.as_str()
}

fn sandbox(receipt: &ParsedReceipt) -> String {
    let chain = receipt.chain_id().split_once("/sandbox/").map(|(_, id)| id);
    binding(receipt, "sandbox_id").or(chain).unwrap_or_default().to_owned()
}

fn correlator(receipt: &ParsedReceipt) -> String {
    let subject = &receipt.body.subject;
    subject.correlation_id.as_ref().or(subject.correlator.as_ref()).cloned().unwrap_or_default()
}
