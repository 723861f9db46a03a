//! Numbers of events: a missing one is an event that never became a receipt.
//!
//! A chain has no gap where an event was lost before it was signed; the emitter's own numbers do. A
//! count of dropped events right before a receipt explains so many of the numbers before it.

use std::collections::BTreeMap;

use super::file::ReceiptLine;
use super::strict::StrictFinding;
use crate::parsed_receipt::ParsedReceipt;

/// A receipt with a number, and the number of losses reported right before it.
struct NumberedReceipt<'a> {
    line: &'a ReceiptLine,
    explained: u64,
}

/// The findings of all sessions.
pub(super) fn findings(chains: &[Vec<&ReceiptLine>]) -> Vec<StrictFinding> {
    let mut sessions: BTreeMap<(&str, &str), BTreeMap<u64, NumberedReceipt<'_>>> = BTreeMap::new();
    let mut found = Vec::new();
    for chain in chains {
        let mut dropped = 0;
        for line in chain {
            if let Some(count) = drops(&line.receipt) {
                dropped = count;
                continue;
            }
            let explained = std::mem::take(&mut dropped);
            let Some((session, number)) = number(&line.receipt) else { continue };
            let numbered = NumberedReceipt { line, explained };
            let again = sessions.entry(session).or_default().insert(number, numbered);
            found.extend(again.map(|before| {
                let detail =
                    format!("number {number} is that of line {} as well", before.line.number);
                StrictFinding::new(line, "event_repeated", detail)
            }));
        }
    }
    let whole = begins_with_a_daemon(chains);
    found.extend(sessions.values().flat_map(|session| missing(session, whole)));
    found
}

/// Numbers that no receipt has and no count explains; a part of a store need not begin with 1.
fn missing(session: &BTreeMap<u64, NumberedReceipt<'_>>, whole: bool) -> Vec<StrictFinding> {
    let mut before = session.keys().next().map_or(0, |first| if whole { 0 } else { first - 1 });
    let mut found = Vec::new();
    for (number, at) in session {
        let gap = number - before - 1;
        if gap > at.explained {
            let (from, to, told) = (before + 1, number - 1, at.explained);
            let detail = format!("numbers {from} to {to} have no receipt, {told} are told as lost");
            found.push(StrictFinding::new(at.line, "events_missing", detail));
        }
        before = *number;
    }
    found
}

/// Session and sandbox, and the number there.
fn number(receipt: &ParsedReceipt) -> Option<((&str, &str), u64)> {
    let issuer = &receipt.body.issuer;
    let number = issuer.runtime.as_ref()?.get("event_number")?.as_u64().filter(|n| *n > 0)?;
    let sandbox = super::pty::binding(receipt, "sandbox_id").unwrap_or_default();
    Some(((issuer.session_id.as_deref().unwrap_or_default(), sandbox), number))
}

fn drops(receipt: &ParsedReceipt) -> Option<u64> {
    let action = &receipt.body.subject.action.kind;
    let count = || receipt.value.pointer("/credentialSubject/action/emitter_metadata/drop_count");
    (action == "agent_receipts.events_dropped").then(|| count()?.as_u64())?
}

/// Returns whether the first receipt of the file is that of a daemon's first start.
fn begins_with_a_daemon(chains: &[Vec<&ReceiptLine>]) -> bool {
    let first = chains.iter().flatten().find(|line| line.number == 1);
    first.is_some_and(|line| {
        let subject = &line.receipt.body.subject;
        subject.action.kind == "agent_receipts.daemon_started" && subject.chain.sequence == 1
    })
}
