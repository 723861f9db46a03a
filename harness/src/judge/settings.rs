//! Judging what settings come to, and what becomes of a command under them.

use boxproof_cases::case::{Answer, AskExpect, SettingsExpect};
use boxproof_cases::protocol::{AskDecision, DocumentAnswer, EffectiveSettings};
use boxproof_reports::Verdict;
use serde_json::Value;

use super::query::astray;
use super::reason::{Reason, VerdictFinding};

/// Checks that `told` is the answer that is `wanted`.
pub(super) fn fits(wanted: &Answer, told: &DocumentAnswer) -> Result<(), VerdictFinding> {
    match (wanted, told) {
        (Answer::Settings(wanted), DocumentAnswer::Settings(found)) => settings(wanted, found),
        (Answer::Ask(wanted), DocumentAnswer::Asks(found)) => match found.as_slice() {
            [found] => asked(wanted, found),
            _ => Err(astray(&format!("one command has {} answers", found.len()))),
        },
        (wanted, _) => {
            Err(astray(&format!("asked for {}, it answers something else", wanted.keyword())))
        }
    }
}

/// A wider decision, or one that lets the command out, is too much; a narrower one too little.
fn asked(wanted: &AskExpect, found: &AskDecision) -> Result<(), VerdictFinding> {
    let place = |inside| if inside { "in the sandbox" } else { "outside it" };
    let message = format!(
        "{} {} is expected, and the answer is {} {}",
        wanted.decision.keyword(),
        place(wanted.sandboxed),
        found.decision.keyword(),
        place(found.sandboxed)
    );
    if found.decision > wanted.decision || (wanted.sandboxed && !found.sandboxed) {
        return Err(VerdictFinding::new(Verdict::UnderBlock, Reason::Decision, message));
    }
    if found.decision < wanted.decision || found.sandboxed != wanted.sandboxed {
        return Err(VerdictFinding::over_block(Reason::Decision, message));
    }
    let rests = wanted.by.is_none_or(|by| by == found.by)
        && (wanted.bypassed_by.is_none() || wanted.bypassed_by == found.bypassed_by);
    match rests {
        true => Ok(()),
        false => Err(VerdictFinding::contract(
            Reason::Rule,
            format!("it rests on {:?} and {:?}", found.by, found.bypassed_by),
        )),
    }
}

/// Settings that are said to confine and do not are too much.
fn settings(wanted: &SettingsExpect, found: &EffectiveSettings) -> Result<(), VerdictFinding> {
    let whole = serde_json::to_value(found)
        .map_err(|error| VerdictFinding::error(Reason::Harness, error.to_string()))?;
    if wanted.values.get("active") == Some(&Value::Bool(true)) && !found.active {
        let message = format!("no sandbox is active; warnings: {:?}", found.warnings);
        return Err(VerdictFinding::new(Verdict::UnderBlock, Reason::Decision, message));
    }
    members("", &wanted.values, &whole)?;
    warned(wanted, &found.warnings)
}

fn members(
    path: &str,
    wanted: &serde_json::Map<String, Value>,
    found: &Value,
) -> Result<(), VerdictFinding> {
    wanted.iter().try_for_each(|(name, wanted)| {
        let found = found.get(name).unwrap_or(&Value::Null);
        match wanted {
            Value::Object(inner) => members(&format!("{path}{name}."), inner, found),
            wanted if wanted == found => Ok(()),
            wanted => {
                let message = format!("{path}{name} is {found} instead of {wanted}");
                Err(VerdictFinding::contract(Reason::Rule, message))
            }
        }
    })
}

fn warned(wanted: &SettingsExpect, found: &[String]) -> Result<(), VerdictFinding> {
    let Some(texts) = &wanted.warns else { return Ok(()) };
    let missing = texts.iter().find(|text| !found.iter().any(|said| said.contains(*text)));
    let message = match (texts.is_empty(), missing) {
        (true, _) if !found.is_empty() => format!("there are warnings: {found:?}"),
        (_, Some(text)) => format!("no warning has {text:?}: {found:?}"),
        _ => return Ok(()),
    };
    Err(VerdictFinding::contract(Reason::Rule, message))
}
