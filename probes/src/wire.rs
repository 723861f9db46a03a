//! The record on a stream: [`encode`] writes the line, [`find`] reads it back.
//!
//! A stream is shared with the command's own output and may be hostile. Text that carries our nonce
//! and is not exactly one well-formed record is never trusted.

use memchr::memmem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::{ProbeEvent, ProbeRecord};

/// ASCII record separator: rare in output, and escaped inside JSON.
const MARK: u8 = 0x1E;

/// An event as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    event: ProbeEvent,
}

/// [`EventLine`] of a borrowed event.
#[derive(Serialize)]
struct EventToWrite<'a> {
    event: &'a ProbeEvent,
}

/// The content of a stream under one nonce.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundRecords {
    /// No record. Nothing was observed: neither a success nor a denial.
    None,
    /// Exactly one.
    One(ProbeRecord),
    /// More than one: one of them is not the probe's, so none counts.
    Several,
    /// Output under our nonce that is no whole record or event.
    Malformed,
}

/// The line of one record, newline included.
#[must_use]
pub fn encode(nonce: &str, record: &ProbeRecord) -> Vec<u8> {
    line(nonce, serde_json::to_vec(record))
}

/// The line of one event, newline included.
#[must_use]
pub fn encode_event(nonce: &str, event: &ProbeEvent) -> Vec<u8> {
    line(nonce, serde_json::to_vec(&EventToWrite { event }))
}

/// The record in `bytes` under `nonce`; lines under other nonces do not exist.
#[must_use]
pub fn find(nonce: &str, bytes: &[u8]) -> FoundRecords {
    let mut found = FoundRecords::None;
    for payload in payloads(nonce, bytes) {
        match (whole::<EventLine>(payload), whole::<ProbeRecord>(payload)) {
            (Some(_), _) => {}
            (None, None) => return FoundRecords::Malformed,
            (None, Some(record)) => {
                found = if found == FoundRecords::None {
                    FoundRecords::One(record)
                } else {
                    FoundRecords::Several
                }
            }
        }
    }
    found
}

/// The events in `bytes` under `nonce`, in order.
#[must_use]
pub fn events(nonce: &str, bytes: &[u8]) -> Vec<ProbeEvent> {
    let lines = payloads(nonce, bytes).into_iter().filter_map(whole::<EventLine>);
    lines.map(|line| line.event).collect()
}

/// An empty payload, which no decoder accepts, stands in for what JSON can't say.
fn line(nonce: &str, json: serde_json::Result<Vec<u8>>) -> Vec<u8> {
    let mut line = prefix(nonce);
    line.extend(json.unwrap_or_default());
    line.push(b'\n');
    line
}

fn prefix(nonce: &str) -> Vec<u8> {
    let mut prefix = vec![MARK];
    prefix.extend(format!("boxproof {nonce} ").bytes());
    prefix
}

/// A payload that ends with its newline, decoded; `None` if cut off or not a `T`.
fn whole<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    serde_json::from_slice(payload.strip_suffix(b"\n")?).ok()
}

/// Returns the bytes after each of our prefixes, up to and with the newline if there is one.
fn payloads<'a>(nonce: &str, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let prefix = prefix(nonce);
    let mut payloads = Vec::new();
    let mut rest = bytes;
    while let Some(at) = memmem::find(rest, &prefix) {
        let tail = &rest[at + prefix.len()..];
        let end = tail.iter().position(|&b| b == b'\n').map_or(tail.len(), |at| at + 1);
        payloads.push(&tail[..end]);
        rest = &tail[end..];
    }
    payloads
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
