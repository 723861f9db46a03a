//! `refbox effective`: a profile as it is in force.

use crate::policy::orbit::{PolicyOperation, ResolvedProfile};

use super::decided_path::RuleSource;
use super::{OutputFormat, ProfileArgs, YES};

/// Prints it; the exit code.
pub(super) fn effective(asked: &ProfileArgs) -> Result<i32, String> {
    let set = asked.documents.read()?;
    let profile = set.profile(&asked.profile).map_err(|error| error.to_string())?;
    let rules = |op| profile.rules(op).iter().map(RuleSource::new).collect::<Vec<_>>();
    let (read, modify) = (rules(PolicyOperation::Read), rules(PolicyOperation::Modify));
    match asked.format() {
        OutputFormat::Json => {
            let json = serde_json::json!({
                "policy": set.name, "profile": profile.name, "read": read, "modify": modify,
            });
            let json = serde_json::to_string_pretty(&json).map_err(|error| error.to_string())?;
            crate::stdout::line(format_args!("{json}"));
        }
        OutputFormat::Text => print(&set.name, &profile, [("read", read), ("modify", modify)]),
    }
    Ok(YES)
}

fn print(policy: &str, profile: &ResolvedProfile, lists: [(&str, Vec<RuleSource>); 2]) {
    crate::stdout::line(format_args!(
        "profile {} of policy {policy}; of the rules that match, the last decides",
        profile.name
    ));
    for (op, rules) in lists {
        crate::stdout::line(format_args!("{op}:"));
        rules.iter().for_each(|rule| crate::stdout::line(format_args!("  {}", rule.text())));
        if rules.is_empty() {
            crate::stdout::line(format_args!("  nothing is allowed"));
        }
    }
}
