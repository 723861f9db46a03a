//! Judging what settings come to, and what becomes of a command under them.

use boxproof_cases::case::{Answer, AskExpect, SettingsExpect};
use boxproof_cases::protocol::{AskDecision, EffectiveSettings, Told};
use boxproof_reports::Verdict;
use serde_json::Value;

use super::question::astray;
use super::reason::{Finding, Reason};

/// Checks that `told` is the answer that is `wanted`.
pub(super) fn fits(wanted: &Answer, told: &Told) -> Result<(), Finding> {
    match (wanted, told) {
        (Answer::Settings(wanted), Told::Settings(found)) => settings(wanted, found),
        (Answer::Ask(wanted), Told::Asks(found)) => match found.as_slice() {
            [found] => asked(wanted, found),
            _ => Err(astray(&format!("one command has {} answers", found.len()))),
        },
        (wanted, _) => {
            Err(astray(&format!("asked for {}, it answers something else", wanted.word())))
        }
    }
}

/// A wider decision, or one that lets the command out, is too much; a narrower one too little.
fn asked(wanted: &AskExpect, found: &AskDecision) -> Result<(), Finding> {
    let place = |inside| if inside { "in the sandbox" } else { "outside it" };
    let message = format!(
        "{} {} is expected, and the answer is {} {}",
        wanted.decision.word(),
        place(wanted.sandboxed),
        found.decision.word(),
        place(found.sandboxed)
    );
    if found.decision > wanted.decision || (wanted.sandboxed && !found.sandboxed) {
        return Err(Finding::new(Verdict::UnderBlock, Reason::Decision, message));
    }
    if found.decision < wanted.decision || found.sandboxed != wanted.sandboxed {
        return Err(Finding::over_block(Reason::Decision, message));
    }
    let rests = wanted.by.is_none_or(|by| by == found.by)
        && (wanted.bypassed_by.is_none() || wanted.bypassed_by == found.bypassed_by);
    match rests {
        true => Ok(()),
        false => Err(Finding::contract(
            Reason::Rule,
            format!("it rests on {:?} and {:?}", found.by, found.bypassed_by),
        )),
    }
}

/// Settings that are said to confine and do not are too much.
fn settings(wanted: &SettingsExpect, found: &EffectiveSettings) -> Result<(), Finding> {
    let whole = serde_json::to_value(found)
        .map_err(|error| Finding::error(Reason::Harness, error.to_string()))?;
    if wanted.values.get("active") == Some(&Value::Bool(true)) && !found.active {
        let message = format!("no sandbox is active; warnings: {:?}", found.warnings);
        return Err(Finding::new(Verdict::UnderBlock, Reason::Decision, message));
    }
    members("", &wanted.values, &whole)?;
    warned(wanted, &found.warnings)
}

fn members(
    path: &str,
    wanted: &serde_json::Map<String, Value>,
    found: &Value,
) -> Result<(), Finding> {
    wanted.iter().try_for_each(|(name, wanted)| {
        let found = found.get(name).unwrap_or(&Value::Null);
        match wanted {
            Value::Object(inner) => members(&format!("{path}{name}."), inner, found),
            wanted if wanted == found => Ok(()),
            wanted => {
                let message = format!("{path}{name} is {found} instead of {wanted}");
                Err(Finding::contract(Reason::Rule, message))
            }
        }
    })
}

fn warned(wanted: &SettingsExpect, found: &[String]) -> Result<(), Finding> {
    let Some(texts) = &wanted.warns else { return Ok(()) };
    let missing = texts.iter().find(|text| !found.iter().any(|said| said.contains(*text)));
    let message = match (texts.is_empty(), missing) {
        (true, _) if !found.is_empty() => format!("there are warnings: {found:?}"),
        (_, Some(text)) => format!("no warning has {text:?}: {found:?}"),
        _ => return Ok(()),
    };
    Err(Finding::contract(Reason::Rule, message))
}
