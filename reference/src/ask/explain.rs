//! `refbox policy explain`: every rule that matches a path, in order, and the one that decides.

use std::path::Path;

use crate::dialect::orbit::{Op, Profile, Resolved, Resolver};

use super::answer::{Answer, Subject, Told};
use super::{Asked, Format, YES};

/// Prints it; the exit code.
pub(super) fn explain(asked: &Asked, workspace: &Path, path: &str) -> Result<i32, String> {
    let profile = asked.documents.read()?.profile(&asked.profile).map_err(|e| e.to_string())?;
    let resolver =
        Resolver::new(workspace).map_err(|error| format!("{}: {error}", workspace.display()))?;
    let subject = Subject::new(&resolver, workspace, path)?;
    let both = [Op::Read, Op::Modify]
        .map(|op| (subject.answer(&profile, op), matching(&subject, &profile, op)));
    let remedies = [Op::Read, Op::Modify].map(|op| remedy(&subject, &profile, op));
    match asked.format() {
        Format::Json => {
            let told: Vec<_> = both
                .iter()
                .map(|(answer, rules)| serde_json::json!({"decision": answer, "matching": rules}))
                .collect();
            let json = serde_json::to_string_pretty(&told).map_err(|error| error.to_string())?;
            crate::say::line(format_args!("{json}"));
        }
        Format::Text => print(&subject, &both, &remedies),
    }
    Ok(YES)
}

/// Returns the rules that match the target of the path.
fn matching(subject: &Subject, profile: &Profile, op: Op) -> Vec<Told> {
    match subject.means() {
        Resolved::Inside(real) => profile.matching(op, real).into_iter().map(Told::new).collect(),
        Resolved::Outside(_) => Vec::new(),
    }
}

/// Returns the change that would allow the operation.
fn remedy(subject: &Subject, profile: &Profile, op: Op) -> String {
    match subject.means() {
        Resolved::Inside(real) => profile.remedy(op, real, &subject.meaning()),
        Resolved::Outside(_) => {
            "nothing does; a profile grants nothing outside the workspace".to_owned()
        }
    }
}

fn print(subject: &Subject, both: &[(Answer, Vec<Told>)], remedies: &[String]) {
    crate::say::line(format_args!("{}", subject.path));
    if subject.meaning() != subject.path {
        crate::say::line(format_args!("means {}", subject.meaning()));
    }
    for ((answer, rules), remedy) in both.iter().zip(remedies) {
        let word = if answer.allowed { "allowed" } else { "denied" };
        crate::say::line(format_args!("{}: {word}", answer.operation));
        for (at, rule) in rules.iter().enumerate() {
            let decides = if at + 1 == rules.len() { "  <- decides" } else { "" };
            crate::say::line(format_args!("  {}{decides}", rule.text()));
        }
        if rules.is_empty() {
            crate::say::line(format_args!("  {}: nothing allows it", answer.matched_rule));
        }
        if let Some(warning) = answer.warning {
            crate::say::line(format_args!("  warning: {warning}"));
        }
        if !answer.allowed {
            crate::say::line(format_args!("  to allow it: {remedy}"));
        }
    }
}
