//! Judging a receipts channel: the answers to agents, the receipts, the chains. A receipt that is
//! missing counts only where the marker's is there.

mod receipt;

use boxproof_cases::Case;
use boxproof_cases::case::{AnswerExpect, Control, ReceiptsExpect};
use boxproof_reports::Verdict;
use ed25519_dalek::VerifyingKey;

use super::reason::{Reason, VerdictFinding, gravest};
use crate::channel_observation::{ChannelAnswer, ChannelObservation};
use crate::execution::{ArmRecord, ArmSet};
use crate::receipts::verify;

/// Checks that the channel shows what the case asks for.
pub(super) fn conclude(
    case: &Case,
    expect: &ReceiptsExpect,
    arms: &ArmSet<ChannelObservation>,
) -> Result<(), VerdictFinding> {
    let seen = seen_of("channel", Some(&arms.confined))?;
    let direct = match case.control {
        Control::None(_) => None,
        _ => Some(control(arms)?),
    };
    gravest([
        leaks(seen),
        disclosed(expect, seen),
        unmet(seen),
        faulty(seen),
        answers(expect, seen),
        reached(expect, seen),
        check_operator_texts(expect, seen),
        altered(expect, direct, seen),
        socket(expect, seen),
        stored(case, expect, seen),
    ])
}

fn seen_of<'a>(
    name: &str,
    arm: Option<&'a ArmRecord<ChannelObservation>>,
) -> Result<&'a ChannelObservation, VerdictFinding> {
    match arm {
        Some(ArmRecord::Done(seen)) => Ok(seen),
        Some(ArmRecord::Inexpressible(why)) => {
            Err(VerdictFinding::new(Verdict::Unsupported, Reason::Inexpressible, why.clone()))
        }
        Some(ArmRecord::Fault(why)) => {
            Err(VerdictFinding::error(Reason::Harness, format!("{name}: {why}")))
        }
        None => Err(VerdictFinding::error(Reason::Harness, format!("the {name} arm is missing"))),
    }
}

/// Returns what execd alone did, once everything that the steps wait for has come.
fn control(arms: &ArmSet<ChannelObservation>) -> Result<&ChannelObservation, VerdictFinding> {
    let control = seen_of("control", arms.control.as_ref())?;
    let failed = control.fault.iter().chain(&control.unmet).next();
    match failed {
        Some(why) => Err(VerdictFinding::inconclusive(
            Reason::ControlFailed,
            format!("without a channel, {why}"),
        )),
        None => Ok(control),
    }
}

fn leaks(seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    match seen.leaks.first() {
        Some(leak) => Err(VerdictFinding::new(
            Verdict::Leak,
            Reason::LeftBehind,
            format!("{leak} outlived the channel"),
        )),
        None => Ok(()),
    }
}

fn disclosed(expect: &ReceiptsExpect, seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    let texts = seen.disclosed.iter().filter(|_| !expect.absent.is_empty());
    let keys = seen.key_seen.iter().filter(|_| expect.keyless);
    if let Some(what) = texts.chain(keys).next() {
        return Err(VerdictFinding::new(Verdict::UnderBlock, Reason::Disclosed, what.clone()));
    }
    match &seen.key_unseen {
        Some(why) if expect.keyless => {
            Err(VerdictFinding::inconclusive(Reason::Marker, format!("the key: {why}")))
        }
        _ => Ok(()),
    }
}

fn unmet(seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    seen.unmet
        .first()
        .map_or(Ok(()), |why| Err(VerdictFinding::contract(Reason::Unmet, why.clone())))
}

fn faulty(seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    seen.fault
        .as_ref()
        .map_or(Ok(()), |why| Err(VerdictFinding::inconclusive(Reason::Marker, why.clone())))
}

fn answers(expect: &ReceiptsExpect, seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    let each = expect.answers.iter().map(|(number, wanted)| {
        let at: usize = number.parse().unwrap_or_default();
        match seen.answers.get(&at).map(Vec::as_slice) {
            Some(answers @ [_, ..]) => {
                gravest(answers.iter().map(|answer| answered(number, wanted, answer)))
            }
            _ if seen.fault.is_some() => Ok(()),
            _ => {
                let message = format!("step {number} was not answered");
                Err(VerdictFinding::inconclusive(Reason::NoRecord, message))
            }
        }
    });
    gravest(each)?;
    let slow = seen.answers.values().flatten().map(|answer| answer.ms).fold(0.0, f64::max);
    match expect.within_ms {
        Some(limit) if slow > limit as f64 => {
            let message = format!("an answer took {slow:.0} ms, not {limit}");
            Err(VerdictFinding::contract(Reason::Timing, message))
        }
        _ => Ok(()),
    }
}

fn answered(
    number: &str,
    wanted: &AnswerExpect,
    answer: &ChannelAnswer,
) -> Result<(), VerdictFinding> {
    let about = |what: String| format!("step {number}: {what}");
    let none = answer.status.is_none();
    let fits = match answer.status {
        Some(status) => wanted.status.is_empty() || wanted.status.contains(&status),
        None => wanted.or_no_connection || wanted.status.is_empty(),
    };
    if !fits {
        let got = match (&answer.error, answer.status) {
            (Some(error), None) => format!("no answer ({error})"),
            (_, status) => format!("status {}", status.unwrap_or_default()),
        };
        let message = about(format!("{got} instead of {:?}: {}", wanted.status, answer.body));
        let refuses = wanted.status.iter().all(|status| *status >= 400);
        return Err(match refuses && !none && answer.status < Some(400) {
            true => VerdictFinding::new(Verdict::UnderBlock, Reason::Answer, message),
            false => VerdictFinding::over_block(Reason::Answer, message),
        });
    }
    if wanted.exit.is_some() && wanted.exit != answer.exit {
        let message =
            format!("exit {:?} instead of {:?}: {}", answer.exit, wanted.exit, answer.body);
        return Err(match wanted.exit {
            Some(0) => VerdictFinding::over_block(Reason::Exit, about(message)),
            _ => VerdictFinding::new(Verdict::UnderBlock, Reason::Exit, about(message)),
        });
    }
    let lacks = wanted.contains.iter().find(|text| !answer.body.contains(*text));
    let has = wanted.lacks.iter().find(|text| answer.body.contains(*text));
    match (lacks, has) {
        (Some(text), _) => {
            let message = about(format!("`{text}` is not in `{}`", answer.body));
            Err(VerdictFinding::contract(Reason::Answer, message))
        }
        (_, Some(text)) => Err(VerdictFinding::contract(
            Reason::Answer,
            about(format!("`{text}` is in the answer")),
        )),
        _ => Ok(()),
    }
}

fn reached(expect: &ReceiptsExpect, seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    let missing = expect.reaches_execd.iter().find(|text| !seen.reached.contains(text));
    missing.map_or(Ok(()), |text| {
        let message = format!("`{text}` did not reach execd");
        Err(VerdictFinding::over_block(Reason::Altered, message))
    })
}

fn check_operator_texts(
    expect: &ReceiptsExpect,
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    let missing = expect.operator.iter().find(|text| !seen.operator.contains(text));
    missing.map_or(Ok(()), |text| {
        let message = format!("no part says `{text}` to its operator: `{}`", seen.logs.trim());
        Err(VerdictFinding::contract(Reason::Unmet, message))
    })
}

/// Checks that status, headers and every byte are those of the control.
fn altered(
    expect: &ReceiptsExpect,
    control: Option<&ChannelObservation>,
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    let Some(control) = control.filter(|_| expect.same_as_direct) else { return Ok(()) };
    let each = control.answers.iter().map(|(number, due)| {
        let answers = seen.answers.get(number).map(Vec::as_slice).unwrap_or_default();
        if answers.len() != due.len() {
            let message = format!("step {number}: {} of {} answers", answers.len(), due.len());
            return Err(VerdictFinding::over_block(Reason::Altered, message));
        }
        gravest(answers.iter().zip(due).map(|(answer, due)| same(*number, answer, due)))
    });
    gravest(each)
}

fn same(number: usize, answer: &ChannelAnswer, due: &ChannelAnswer) -> Result<(), VerdictFinding> {
    let what = if answer.status != due.status {
        format!("status {:?} instead of {:?} ({:?})", answer.status, due.status, answer.error)
    } else if (&answer.sha256, answer.bytes) != (&due.sha256, due.bytes) {
        format!("`{}` instead of `{}`", answer.body, due.body)
    } else if answer.headers != due.headers {
        format!("headers {:?} instead of {:?}", answer.headers, due.headers)
    } else {
        return Ok(());
    };
    Err(VerdictFinding::over_block(Reason::Altered, format!("step {number}: {what}")))
}

fn socket(expect: &ReceiptsExpect, seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    match &expect.socket_mode {
        Some(mode) if seen.socket_mode.as_ref() != Some(mode) => {
            let message = format!("the socket has {:?}, not {mode}", seen.socket_mode);
            Err(VerdictFinding::contract(Reason::Answer, message))
        }
        _ => Ok(()),
    }
}

/// Judges the content of the store; draws no conclusion from a store that may be incomplete.
fn stored(
    case: &Case,
    expect: &ReceiptsExpect,
    seen: &ChannelObservation,
) -> Result<(), VerdictFinding> {
    let stores = case.channel().is_some_and(boxproof_cases::case::Channel::stored);
    if !stores || seen.fault.is_some() {
        return Ok(());
    }
    let key = key(&seen.key)?;
    let flaws = verify::verify(&seen.lines, &key);
    gravest([whole(seen), broken(expect, &flaws), receipt::fit(expect, seen)])
}

fn key(hex: &str) -> Result<VerifyingKey, VerdictFinding> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
    let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    key.ok_or_else(|| VerdictFinding::error(Reason::Harness, "the channel's public key is missing"))
}

/// Checks that every marker has arrived.
fn whole(seen: &ChannelObservation) -> Result<(), VerdictFinding> {
    if let Some(marker) = seen.markers.iter().find(|marker| !marker.arrived) {
        let message = format!("the marker sent by {} left no receipt", marker.by);
        return Err(VerdictFinding::inconclusive(Reason::Marker, message));
    }
    match seen.lines.is_empty() {
        true => Err(VerdictFinding::inconclusive(Reason::Marker, "nothing was exported")),
        false => Ok(()),
    }
}

/// The verifier finds what it must find, and nothing else.
fn broken(expect: &ReceiptsExpect, flaws: &[verify::ReceiptFlaw]) -> Result<(), VerdictFinding> {
    if let Some(flaw) = flaws.iter().find(|flaw| !expect.findings.iter().any(|w| w == flaw.word)) {
        let message = format!("receipt {}: {}: {}", flaw.line, flaw.word, flaw.why);
        return Err(VerdictFinding::contract(Reason::Chain, message));
    }
    let missing = expect.findings.iter().find(|word| !flaws.iter().any(|flaw| flaw.word == **word));
    missing.map_or(Ok(()), |word| {
        Err(VerdictFinding::contract(Reason::Chain, format!("{word} is not found in the chains")))
    })
}
