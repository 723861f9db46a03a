//! `refbox check`: whether a profile allows paths.

use crate::dialect::orbit::Resolver;

use super::answer::{Answer, Subject};
use super::{Format, NO, Paths, YES, warn};

/// Answers for every path; the exit code.
pub(super) fn check(question: &Paths) -> Result<i32, String> {
    let Paths { asked, workspace, op, paths } = question;
    let profile = asked.documents.read()?.profile(&asked.profile).map_err(|e| e.to_string())?;
    warn(&profile, Some(workspace));
    let resolver =
        Resolver::new(workspace).map_err(|error| format!("{}: {error}", workspace.display()))?;
    let answers = paths.iter().map(|path| {
        Subject::new(&resolver, workspace, path)
            .map(|subject| subject.answer(&profile, (*op).into()))
    });
    let answers = answers.collect::<Result<Vec<Answer>, String>>()?;
    match asked.format() {
        Format::Json => {
            let json = serde_json::to_string_pretty(&serde_json::json!({"decisions": answers}));
            crate::say::line(format_args!("{}", json.map_err(|error| error.to_string())?));
        }
        Format::Text => {
            answers.iter().for_each(|answer| crate::say::line(format_args!("{}", line(answer))));
        }
    }
    Ok(if answers.iter().all(|answer| answer.allowed) { YES } else { NO })
}

fn line(answer: &Answer) -> String {
    let word = if answer.allowed { "allowed" } else { "denied" };
    let by = match &answer.decided_by {
        Some(rule) => rule.text(),
        None => answer.matched_rule.clone(),
    };
    let means = match answer.means == answer.path {
        true => String::new(),
        false => format!(" (means {})", answer.means),
    };
    let warning = answer.warning.map(|text| format!("\n  warning: {text}")).unwrap_or_default();
    format!("{word}  {} {}{means}: {by}{warning}", answer.operation, answer.path)
}
