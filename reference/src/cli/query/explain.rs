//! `refbox policy explain`: every rule that matches a path, in order, and the one that decides.

use std::path::Path;

use crate::policy::orbit::{PathResolver, PolicyOperation, ResolvedPath, ResolvedProfile};

use super::decided_path::{DecidedPath, QueriedPath, RuleSource};
use super::{OutputFormat, ProfileArgs, YES};

/// Prints it; the exit code.
pub(super) fn explain(asked: &ProfileArgs, workspace: &Path, path: &str) -> Result<i32, String> {
    let profile = asked.documents.read()?.profile(&asked.profile).map_err(|e| e.to_string())?;
    let resolver = PathResolver::new(workspace)
        .map_err(|error| format!("{}: {error}", workspace.display()))?;
    let subject = QueriedPath::new(&resolver, workspace, path)?;
    let both = [PolicyOperation::Read, PolicyOperation::Modify]
        .map(|op| (subject.answer(&profile, op), matching(&subject, &profile, op)));
    let remedies =
        [PolicyOperation::Read, PolicyOperation::Modify].map(|op| remedy(&subject, &profile, op));
    match asked.format() {
        OutputFormat::Json => {
            let told: Vec<_> = both
                .iter()
                .map(|(answer, rules)| serde_json::json!({"decision": answer, "matching": rules}))
                .collect();
            let json = serde_json::to_string_pretty(&told).map_err(|error| error.to_string())?;
            crate::stdout::line(format_args!("{json}"));
        }
        OutputFormat::Text => print(&subject, &both, &remedies),
    }
    Ok(YES)
}

/// Returns the rules that match the target of the path.
fn matching(
    subject: &QueriedPath,
    profile: &ResolvedProfile,
    op: PolicyOperation,
) -> Vec<RuleSource> {
    match subject.means() {
        ResolvedPath::Inside(real) => {
            profile.matching(op, real).into_iter().map(RuleSource::new).collect()
        }
        ResolvedPath::Outside(_) => Vec::new(),
    }
}

/// Returns the change that would allow the operation.
fn remedy(subject: &QueriedPath, profile: &ResolvedProfile, op: PolicyOperation) -> String {
    match subject.means() {
        ResolvedPath::Inside(real) => profile.remedy(op, real, &subject.meaning()),
        ResolvedPath::Outside(_) => {
            "nothing does; a profile grants nothing outside the workspace".to_owned()
        }
    }
}

fn print(subject: &QueriedPath, both: &[(DecidedPath, Vec<RuleSource>)], remedies: &[String]) {
    crate::stdout::line(format_args!("{}", subject.path));
    if subject.meaning() != subject.path {
        crate::stdout::line(format_args!("means {}", subject.meaning()));
    }
    for ((answer, rules), remedy) in both.iter().zip(remedies) {
        let word = if answer.allowed { "allowed" } else { "denied" };
        crate::stdout::line(format_args!("{}: {word}", answer.operation));
        for (at, rule) in rules.iter().enumerate() {
            let decides = if at + 1 == rules.len() { "  <- decides" } else { "" };
            crate::stdout::line(format_args!("  {}{decides}", rule.text()));
        }
        if rules.is_empty() {
            crate::stdout::line(format_args!("  {}: nothing allows it", answer.matched_rule));
        }
        if let Some(warning) = answer.warning {
            crate::stdout::line(format_args!("  warning: {warning}"));
        }
        if !answer.allowed {
            crate::stdout::line(format_args!("  to allow it: {remedy}"));
        }
    }
}
