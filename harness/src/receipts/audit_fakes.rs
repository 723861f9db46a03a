//! Two channels that are always wrong, for the audit: one that is silent, one that garbles. Their
//! chains verify, so that only what a case itself asks for can tell. A case that the one it concerns
//! does not get wrong asks nothing. Pure.

use boxproof_cases::case::{ChainEdit, Channel, ChannelStep, ReceiptMember, VerifyStep};
use ed25519_dalek::SigningKey;
use serde_json::Value;

use super::canonical;
use super::sign::{self, SigningKeys};
use crate::channel_observation::{ChannelAnswer, ChannelObservation, MarkerAction};

/// The key of both.
const KEY: [u8; 32] = [7; 32];

/// A channel that receipts nothing but the marker; `direct` is what agents saw, if anything.
pub(super) fn silent(channel: &Channel, direct: Option<ChannelObservation>) -> ChannelObservation {
    let answer =
        ChannelAnswer { error: Some("it is silent".to_owned()), ..ChannelAnswer::default() };
    let seen = fake_observation(channel, &answer, &[], "nothing is heard of it");
    match direct {
        Some(direct) => ChannelObservation { answers: direct.answers, unmet: direct.unmet, ..seen },
        None => ChannelObservation { socket_mode: None, ..seen },
    }
}

/// A channel that answers every request with another text, takes everything, and writes receipts of
/// all that it hears, wrongly and in plain text.
pub(super) fn garbling(channel: &Channel) -> ChannelObservation {
    let heard = channel.steps.iter().map(|step| serde_json::to_string(step).unwrap_or_default());
    let heard: Vec<String> = heard.collect();
    let answer =
        ChannelAnswer { status: Some(299), body: "garbled".to_owned(), ..ChannelAnswer::default() };
    let why = "it never closes a connection, and starts anywhere";
    ChannelObservation {
        disclosed: heard.clone(),
        key_seen: vec!["the key is everywhere".to_owned()],
        ..fake_observation(channel, &answer, &heard, why)
    }
}

fn fake_observation(
    channel: &Channel,
    answer: &ChannelAnswer,
    heard: &[String],
    unmet: &str,
) -> ChannelObservation {
    let key = SigningKey::from_bytes(&KEY);
    let marker = canonical::sha256(b"marker");
    let answered = channel.steps.iter().enumerate().filter(|(_, step)| step.is_answered());
    let answers = answered.map(|(at, step)| (at + 1, vec![fake_answer(step, answer)])).collect();
    // Only what a step can wait for counts as unmet.
    let waits = channel.steps.iter().any(waits);
    ChannelObservation {
        nonce: "extreme".to_owned(),
        answers,
        unmet: if waits { vec![unmet.to_owned()] } else { Vec::new() },
        lines: chain(heard, &marker, &key),
        key: key.verifying_key().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
        markers: vec![MarkerAction { hash: marker, by: "itself".to_owned(), arrived: true }],
        socket_mode: Some("666".to_owned()),
        ..ChannelObservation::default()
    }
}

/// A good chain of garbage, one receipt for each thing heard, and the marker's.
fn chain(heard: &[String], marker: &str, key: &SigningKey) -> Vec<String> {
    let make = |at: usize, member: &str, value: Value| {
        ChainEdit::Make(ReceiptMember {
            at,
            member: member.to_owned(),
            value: Some(value),
            null: false,
        })
    };
    let garbage = heard.iter().enumerate();
    let garbage =
        garbage.map(|(at, text)| make(at, "/credentialSubject/principal/id", text.as_str().into()));
    let kinds =
        (0..heard.len()).map(|at| make(at, "/credentialSubject/action/type", "garbled".into()));
    let last = make(heard.len(), "/credentialSubject/action/parameters_hash", marker.into());
    let edits = garbage.chain(kinds).chain([last]).collect();
    let step = VerifyStep { length: heard.len() + 1, edits, ..VerifyStep::default() };
    let keys = SigningKeys { own: key.clone(), other: key.clone() };
    sign::chain(&step, &keys).map(|chain| chain.lines).unwrap_or_default()
}

/// A silent verifier finds everything broken, a garbling one nothing; everybody else as they are.
fn fake_answer(step: &ChannelStep, answer: &ChannelAnswer) -> ChannelAnswer {
    match step {
        ChannelStep::Verify(_) => {
            let exit = Some(i32::from(answer.status.is_none()));
            ChannelAnswer { exit, ..ChannelAnswer::default() }
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
