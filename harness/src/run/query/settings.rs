//! Questions about settings: their requests, and their answers without the names of our
//! directories.

use std::path::Path;

use boxproof_cases::Case;
use boxproof_cases::case::{CalibanSpec, PolicyQuery};
use boxproof_cases::protocol::{
    AskDecision, AskQuestion, DecideAskRequest, DocumentAnswer, PROTOCOL, Permission,
    SettingsDialect, SettingsRequest, from_json,
};
use boxproof_cases::vars::VariableValues;
use serde_json::Value;

/// The request that asks all of `cases`, which share settings and verb.
pub(super) fn request(
    cases: &[&Case],
    workspace: &Path,
    vars: &VariableValues,
) -> Result<String, String> {
    let first = cases.first().ok_or("no question")?;
    let caliban = first.policy().caliban.as_ref().ok_or("a question without settings")?;
    let text = vars.expand(&caliban.settings).map_err(|error| error.to_string())?;
    let (protocol, dialect) = (PROTOCOL, SettingsDialect::Caliban);
    let (reading, documents) = (caliban.reading, vec![CalibanSpec::document(text)]);
    let (workspace, session) = (workspace.into(), caliban.session());
    let text = match first.question() {
        Some(PolicyQuery::Settings) => serde_json::to_string_pretty(&SettingsRequest {
            protocol,
            dialect,
            reading,
            documents,
            workspace,
            session,
        }),
        _ => serde_json::to_string_pretty(&DecideAskRequest {
            protocol,
            dialect,
            reading,
            documents,
            workspace,
            session,
            commands: commands(cases),
        }),
    };
    text.map_err(|error| error.to_string())
}

fn commands(cases: &[&Case]) -> Vec<AskQuestion> {
    let asked = cases.iter().filter_map(|case| match case.question() {
        Some(PolicyQuery::Ask(asked)) => Some(asked.clone()),
        _ => None,
    });
    asked.collect()
}

/// Returns whether every answer allows its command: the exit code is 0 then.
pub(super) fn all_allowed(asked: &[AskDecision]) -> bool {
    asked.iter().all(|asked| asked.decision == Permission::Allow)
}

/// Passes every text of the answer through `neutral`.
pub(super) fn neutral(told: DocumentAnswer, neutral: &dyn Fn(&str) -> String) -> DocumentAnswer {
    let Ok(mut value) = serde_json::to_value(&told) else { return told };
    texts(&mut value, neutral);
    from_json(value.to_string().as_bytes()).unwrap_or(told)
}

fn texts(value: &mut Value, neutral: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = neutral(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, neutral)),
        Value::Object(members) => members.values_mut().for_each(|item| texts(item, neutral)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
