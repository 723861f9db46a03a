//! `refbox check`: whether a profile allows paths.

use serde::Serialize;

use crate::policy::orbit::PathResolver;

use super::decided_path::{DecidedPath, QueriedPath};
use super::{INVALID, NO, OutputFormat, PathQueryArgs, YES, warn};

/// Answers for every path; the exit code.
pub(super) fn check(question: &PathQueryArgs) -> Result<i32, String> {
    let PathQueryArgs { asked, workspace, op, paths } = question;
    let profile = asked.documents.read()?.profile(&asked.profile).map_err(|e| e.to_string())?;
    warn(&profile, Some(workspace));
    let resolver = PathResolver::new(workspace)
        .map_err(|error| format!("{}: {error}", workspace.display()))?;
    let op: crate::policy::orbit::PolicyOperation = (*op).into();
    // A path that is no question takes nothing from the answers for the others.
    let answers = paths.iter().map(|path| {
        let subject = QueriedPath::new(&resolver, workspace, path);
        let error =
            |error| UnansweredPath { operation: op.operation_name(), path: path.clone(), error };
        subject.map(|subject| subject.answer(&profile, op)).map_err(error)
    });
    let answers: Vec<Result<DecidedPath, UnansweredPath>> = answers.collect();
    match asked.format() {
        OutputFormat::Json => {
            let told: Vec<serde_json::Value> =
                answers.iter().map(value).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
            let json = serde_json::to_string_pretty(&serde_json::json!({"decisions": told}));
            crate::stdout::line(format_args!("{}", json.map_err(|error| error.to_string())?));
        }
        OutputFormat::Text => answers.iter().for_each(|answer| match answer {
            Ok(answer) => crate::stdout::line(format_args!("{}", line(answer))),
            Err(unanswered) => eprintln!("refbox: {}", printable(&unanswered.error)),
        }),
    }
    let worst = answers.iter().map(|answer| match answer {
        Err(_) => INVALID,
        Ok(answer) if answer.allowed => YES,
        Ok(_) => NO,
    });
    Ok(worst.max().unwrap_or(YES))
}

/// A path that there is no answer for, and why.
#[derive(Serialize)]
struct UnansweredPath {
    operation: &'static str,
    path: String,
    error: String,
}

fn value(answer: &Result<DecidedPath, UnansweredPath>) -> serde_json::Result<serde_json::Value> {
    match answer {
        Ok(answer) => serde_json::to_value(answer),
        Err(unanswered) => serde_json::to_value(unanswered),
    }
}

fn line(answer: &DecidedPath) -> String {
    let word = if answer.allowed { "allowed" } else { "denied" };
    let by = match &answer.decided_by {
        Some(rule) => rule.text(),
        None => answer.matched_rule.clone(),
    };
    let means = match answer.means == answer.path {
        true => String::new(),
        false => format!(" (means {})", printable(&answer.means)),
    };
    let warning = answer.warning.map(|text| format!("\n  warning: {text}")).unwrap_or_default();
    let path = printable(&answer.path);
    format!("{word}  {} {path}{means}: {by}{warning}", answer.operation)
}

/// Returns `text` on one line, and without commands to a terminal: a path can hold both.
fn printable(text: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}
