//! `refbox policy explain`: every rule that matches a path, in order, and the one that decides.

use std::path::Path;

use crate::dialect::orbit::{OUTSIDE, Op, Profile, Resolved, Resolver};

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
    match asked.format() {
        Format::Json => {
            let told: Vec<_> = both
                .iter()
                .map(|(answer, rules)| serde_json::json!({"decision": answer, "matching": rules}))
                .collect();
            let json = serde_json::to_string_pretty(&told).map_err(|error| error.to_string())?;
            crate::say::line(format_args!("{json}"));
        }
        Format::Text => print(&subject, &both),
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
fn remedy(answer: &Answer) -> String {
    let op = answer.operation;
    let Some(rule) = &answer.decided_by else {
        return match answer.matched_rule == OUTSIDE {
            true => "nothing does; a profile grants nothing outside the workspace".to_owned(),
            false => format!("add a `{op}` rule for it to the profile"),
        };
    };
    let place = rule.place();
    match (rule.origin, op) {
        ("profile", _) => format!("put a `{op}` rule for it behind {place}"),
        ("workspace deny", _) => format!("narrow the deny at {place}"),
        (_, "modify") => format!(
            "no profile can; the host's document can make an exception behind {place}, such as \
             `!{}`, or narrow the deny",
            answer.means
        ),
        _ => format!("no profile can; narrow the deny at {place}"),
    }
}

fn print(subject: &Subject, both: &[(Answer, Vec<Told>)]) {
    crate::say::line(format_args!("{}", subject.path));
    if subject.meaning() != subject.path {
        crate::say::line(format_args!("means {}", subject.meaning()));
    }
    for (answer, rules) in both {
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
            crate::say::line(format_args!("  to allow it: {}", remedy(answer)));
        }
    }
}
