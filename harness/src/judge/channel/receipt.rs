//! Receipts set against those that a case lists.

use std::collections::BTreeMap;

use boxproof_cases::case::{Peer, ReceiptExpect, ReceiptsExpect};
use boxproof_reports::Verdict;
use serde_json::Value;

use super::super::reason::{Reason, VerdictFinding};
use crate::channel_observation::ChannelObservation;
use crate::receipts::canonical;
use crate::receipts::verify::{self, PlacedReceipt};

/// The text by which a case says that a member is absent.
const ABSENT: &str = "absent";

/// Checks that the receipts are those that `expect` lists or counts.
pub(super) fn fit(
    expect: &ReceiptsExpect,
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    let receipts = crate::receipts::actions(&seen.lines);
    let receipts: Vec<&PlacedReceipt> =
        receipts.iter().filter(|one| !is_marker(one, seen)).collect();
    if let Some(count) = expect.chains {
        let found = receipts.iter().map(|one| one.chain()).filter(|id| id.contains("/sandbox/"));
        let found: std::collections::BTreeSet<_> = found.collect();
        if found.len() != count {
            let message = format!("{} chains instead of {count}: {found:?}", found.len());
            return Err(VerdictFinding::contract(Reason::Chain, message));
        }
    }
    if let Some(count) = expect.count {
        counted(count, &receipts, seen)?;
    }
    if let Some(each) = &expect.each {
        for receipt in &receipts {
            differs(each, receipt, seen).map_or(Ok(()), |why| Err(other(receipt, &why)))?;
        }
    }
    match &expect.receipts {
        Some(wanted) if expect.any_order => unordered(wanted, &receipts, seen),
        Some(wanted) => ordered(wanted, &receipts, seen),
        None => Ok(()),
    }
}

fn is_marker(receipt: &PlacedReceipt, seen: &ChannelObservation) -> bool {
    let hash = receipt.text("/credentialSubject/action/parameters_hash");
    seen.markers.iter().any(|marker| hash == Some(&marker.hash))
}

/// Compares the number of receipts with `count`. An act without a receipt is worse than a receipt
/// too many, unless the case allows no receipt at all.
fn counted(
    count: usize,
    receipts: &[&PlacedReceipt],
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    let kinds: Vec<&str> = receipts.iter().map(|one| one.kind()).collect();
    let message = format!("{} receipts instead of {count}: {kinds:?}", receipts.len());
    match receipts.len().cmp(&count) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(missing(message, seen)),
        std::cmp::Ordering::Greater if count == 0 => {
            Err(VerdictFinding::new(Verdict::UnderBlock, Reason::Receipts, message))
        }
        std::cmp::Ordering::Greater => Err(VerdictFinding::contract(Reason::Receipts, message)),
    }
}

fn missing(message: String, seen: &ChannelObservation) -> VerdictFinding {
    match seen.markers.iter().all(|marker| marker.arrived) && !seen.lines.is_empty() {
        true => VerdictFinding::new(Verdict::UnderBlock, Reason::Receipts, message),
        false => VerdictFinding::inconclusive(Reason::Marker, message),
    }
}

fn other(receipt: &PlacedReceipt, why: &str) -> VerdictFinding {
    let message = format!("receipt {} ({}): {why}", receipt.line, receipt.kind());
    VerdictFinding::contract(Reason::Receipt, message)
}

fn ordered(
    wanted: &[ReceiptExpect],
    found: &[&PlacedReceipt],
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    if found.len() != wanted.len() {
        return counted(wanted.len(), found, seen);
    }
    for (wanted, receipt) in wanted.iter().zip(found) {
        differs(wanted, receipt, seen).map_or(Ok(()), |why| Err(other(receipt, &why)))?;
    }
    correlated(&wanted.iter().zip(found.iter().copied()).collect::<Vec<_>>())
}

fn unordered(
    wanted: &[ReceiptExpect],
    found: &[&PlacedReceipt],
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    counted(wanted.len(), found, seen)?;
    let mut left = found.to_vec();
    let mut pairs = Vec::new();
    for wanted in wanted {
        match left.iter().position(|receipt| differs(wanted, receipt, seen).is_none()) {
            Some(at) => pairs.push((wanted, left.remove(at))),
            None => {
                let whys = left.iter().filter_map(|one| differs(wanted, one, seen));
                let message =
                    format!("none fits {wanted:?}: {}", whys.collect::<Vec<_>>().join("; "));
                return Err(VerdictFinding::contract(Reason::Receipt, message));
            }
        }
    }
    correlated(&pairs)
}

/// Receipts with one word share an id, and no others have it.
fn correlated(pairs: &[(&ReceiptExpect, &PlacedReceipt)]) -> Result<(), VerdictFinding> {
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    for (wanted, receipt) in pairs {
        let Some(word) = &wanted.correlated else { continue };
        let Some(id) = receipt.correlation() else {
            return Err(other(receipt, "it has no correlation id"));
        };
        let taken = ids.iter().find(|(known, value)| (**known == *word) != (**value == id));
        if let Some((known, value)) = taken {
            let why = format!("correlation `{id}` for {word}, `{value}` for {known}");
            return Err(other(receipt, &why));
        }
        ids.insert(word, id);
    }
    Ok(())
}

/// The first thing about `receipt` that is not as it must be.
fn differs(
    wanted: &ReceiptExpect,
    receipt: &PlacedReceipt,
    seen: &ChannelObservation,
) -> Option<String> {
    let action = "/credentialSubject/action";
    let outcome = "/credentialSubject/outcome";
    let checks = [
        text("type", wanted.kind.as_deref(), receipt.text(&format!("{action}/type"))),
        risk(wanted, receipt),
        text("status", wanted.status.as_deref(), receipt.text(&format!("{outcome}/status"))),
        hash("input", wanted.input.as_ref(), receipt.text(&format!("{action}/parameters_hash"))),
        hash("output", wanted.output.as_ref(), receipt.text(&format!("{outcome}/response_hash"))),
        not_hash(wanted.not_input.as_ref(), receipt),
        written("parameters_hash", wanted.parameters_hash.as_deref(), receipt, action),
        written("response_hash", wanted.response_hash.as_deref(), receipt, outcome),
        text("endpoint", wanted.endpoint.as_deref(), receipt.binding("endpoint")),
        text("sandbox", wanted.sandbox.as_deref(), receipt.binding("sandbox_id")),
        drops(wanted, receipt),
        holds("error", wanted.error, receipt.text(&format!("{outcome}/error")).is_some()),
        target(wanted, receipt),
        holds(
            "anchor",
            wanted.anchored,
            receipt.value.pointer("/credentialSubject/delegation").is_some(),
        ),
        number(wanted, receipt),
        ends(wanted, receipt),
        peer(wanted, receipt, seen),
        members(wanted, receipt),
    ];
    checks.into_iter().flatten().next()
}

fn text(name: &str, wanted: Option<&str>, found: Option<&str>) -> Option<String> {
    let wanted = wanted?;
    let due = (wanted != ABSENT).then_some(wanted);
    (found != due).then(|| format!("{name} is {found:?} instead of {due:?}"))
}

fn written(
    name: &str,
    wanted: Option<&str>,
    receipt: &PlacedReceipt,
    place: &str,
) -> Option<String> {
    text(name, wanted, receipt.text(&format!("{place}/{name}")))
}

/// A risk may be raised, never lowered.
fn risk(wanted: &ReceiptExpect, receipt: &PlacedReceipt) -> Option<String> {
    let wanted = wanted.risk.as_deref()?;
    let found = receipt.text("/credentialSubject/action/risk_level").unwrap_or_default();
    let rank = |risk: &str| verify::risk_rank(risk);
    (rank(found) < rank(wanted)).then(|| format!("risk is {found}, lower than {wanted}"))
}

fn hash(name: &str, wanted: Option<&Value>, found: Option<&str>) -> Option<String> {
    let wanted = wanted?;
    match canonical::meant(wanted).and_then(|value| canonical::hash(&value)) {
        Ok(due) if found == Some(&due) => None,
        Ok(due) => Some(format!("{name} hashes to {found:?}, and {wanted} to {due}")),
        Err(why) => Some(format!("{name}: {why}")),
    }
}

fn not_hash(wanted: Option<&Value>, receipt: &PlacedReceipt) -> Option<String> {
    let found = receipt.text("/credentialSubject/action/parameters_hash");
    let is = canonical::meant(wanted?).and_then(|value| canonical::hash(&value)).ok();
    (found.is_some() && found == is.as_deref())
        .then(|| "its input is the text that was not run".to_owned())
}

fn drops(wanted: &ReceiptExpect, receipt: &PlacedReceipt) -> Option<String> {
    let due = wanted.drops?;
    let found = receipt.drops();
    (found.unwrap_or_default() != due || (due == 0 && found.is_some()))
        .then(|| format!("{found:?} dropped events instead of {due}"))
}

fn holds(name: &str, wanted: Option<bool>, found: bool) -> Option<String> {
    let wanted = wanted?;
    let is = |there: bool| if there { "there" } else { "not there" };
    (wanted != found).then(|| format!("{name} is {}", is(found)))
}

fn target(wanted: &ReceiptExpect, receipt: &PlacedReceipt) -> Option<String> {
    let wanted = wanted.target.as_deref()?;
    let place = "/credentialSubject/action/target";
    let of = |name: &str| receipt.text(&format!("{place}/{name}")).unwrap_or_default().to_owned();
    let found = format!("{} {}", of("system"), of("resource"));
    (!found.contains(wanted)).then(|| format!("target is `{found}` without `{wanted}`"))
}

fn number(wanted: &ReceiptExpect, receipt: &PlacedReceipt) -> Option<String> {
    let due = wanted.sequence?;
    let found = receipt.sequence();
    (found != Some(due)).then(|| format!("sequence is {found:?} instead of {due}"))
}

fn ends(wanted: &ReceiptExpect, receipt: &PlacedReceipt) -> Option<String> {
    let chain = "/credentialSubject/chain";
    let terminal = receipt.value.pointer(&format!("{chain}/terminal")) == Some(&Value::Bool(true));
    let found = receipt.text(&format!("{chain}/status")).filter(|_| terminal);
    text("ending", wanted.ends.as_deref(), found)
}

fn peer(
    wanted: &ReceiptExpect,
    receipt: &PlacedReceipt,
    seen: &ChannelObservation,
) -> Option<String> {
    let due = match wanted.peer? {
        Peer::Relay => seen.relay.map(u64::from),
        Peer::Harness => Some(seen.harness.into()),
    };
    let place = "/credentialSubject/action/peer_credential/pid";
    let found = receipt.value.pointer(place).and_then(Value::as_u64);
    (found != due).then(|| format!("peer is process {found:?} instead of {due:?}"))
}

fn members(wanted: &ReceiptExpect, receipt: &PlacedReceipt) -> Option<String> {
    wanted.members.iter().find_map(|(pointer, due)| {
        let found = receipt.value.pointer(pointer);
        let fits = if due.is_null() { found.is_none() } else { found == Some(due) };
        (!fits).then(|| format!("{pointer} is {found:?} instead of {due}"))
    })
}
