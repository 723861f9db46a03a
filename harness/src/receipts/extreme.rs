//! Two channels that are always wrong, for the audit: one that is silent, one that garbles. Their
//! chains verify, so that only what a case itself asks for can tell. A case that the one it concerns
//! does not get wrong asks nothing. Pure.

use boxproof_cases::case::{Channel, ChannelStep, Edit, Place, VerifyStep};
use ed25519_dalek::SigningKey;
use serde_json::Value;

use super::canonical;
use super::seen::{Answer, Marker, Seen};
use super::sign::{self, Keys};

/// The key of both.
const KEY: [u8; 32] = [7; 32];

/// A channel that receipts nothing but the marker; `direct` is what agents saw, if anything.
pub(super) fn silent(channel: &Channel, direct: Option<Seen>) -> Seen {
    let answer = Answer { error: Some("it is silent".to_owned()), ..Answer::default() };
    let seen = seen(channel, &answer, &[], "nothing is heard of it");
    match direct {
        Some(direct) => Seen { answers: direct.answers, unmet: direct.unmet, ..seen },
        None => Seen { socket_mode: None, ..seen },
    }
}

/// A channel that answers every request with another text, takes everything, and writes receipts of
/// all that it hears, wrongly and in plain text.
pub(super) fn garbling(channel: &Channel) -> Seen {
    let heard = channel.steps.iter().map(|step| serde_json::to_string(step).unwrap_or_default());
    let heard: Vec<String> = heard.collect();
    let answer = Answer { status: Some(299), body: "garbled".to_owned(), ..Answer::default() };
    let why = "it never closes a connection, and starts anywhere";
    Seen {
        disclosed: heard.clone(),
        key_seen: vec!["the key is everywhere".to_owned()],
        ..seen(channel, &answer, &heard, why)
    }
}

fn seen(channel: &Channel, answer: &Answer, heard: &[String], unmet: &str) -> Seen {
    let key = SigningKey::from_bytes(&KEY);
    let marker = canonical::sha256(b"marker");
    let answered = channel.steps.iter().enumerate().filter(|(_, step)| step.is_answered());
    let answers = answered.map(|(at, step)| (at + 1, vec![told(step, answer)])).collect();
    // Only what a step can wait for counts as unmet.
    let waits = channel.steps.iter().any(waits);
    Seen {
        nonce: "extreme".to_owned(),
        answers,
        unmet: if waits { vec![unmet.to_owned()] } else { Vec::new() },
        lines: chain(heard, &marker, &key),
        key: key.verifying_key().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
        markers: vec![Marker { hash: marker, by: "itself".to_owned(), arrived: true }],
        socket_mode: Some("666".to_owned()),
        ..Seen::default()
    }
}

/// A good chain of garbage, one receipt for each thing heard, and the marker's.
fn chain(heard: &[String], marker: &str, key: &SigningKey) -> Vec<String> {
    let make = |at: usize, member: &str, value: Value| {
        Edit::Make(Place { at, member: member.to_owned(), value: Some(value), null: false })
    };
    let garbage = heard.iter().enumerate();
    let garbage =
        garbage.map(|(at, text)| make(at, "/credentialSubject/principal/id", text.as_str().into()));
    let kinds =
        (0..heard.len()).map(|at| make(at, "/credentialSubject/action/type", "garbled".into()));
    let last = make(heard.len(), "/credentialSubject/action/parameters_hash", marker.into());
    let edits = garbage.chain(kinds).chain([last]).collect();
    let step = VerifyStep { length: heard.len() + 1, edits, ..VerifyStep::default() };
    let keys = Keys { own: key.clone(), other: key.clone() };
    sign::chain(&step, &keys).map(|chain| chain.lines).unwrap_or_default()
}

/// A silent verifier finds everything broken, a garbling one nothing; everybody else as they are.
fn told(step: &ChannelStep, answer: &Answer) -> Answer {
    match step {
        ChannelStep::Verify(_) => {
            let exit = Some(i32::from(answer.status.is_none()));
            Answer { exit, ..Answer::default() }
        }
        _ => answer.clone(),
    }
}

fn waits(step: &ChannelStep) -> bool {
    match step {
        ChannelStep::Frame(frame) => frame.closes,
        ChannelStep::Socket(_) | ChannelStep::Refuse(_) => true,
        _ => false,
    }
}
