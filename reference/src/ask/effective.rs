//! `refbox effective`: a profile as it is in force.

use crate::dialect::orbit::{Op, Profile};

use super::answer::Told;
use super::{Asked, Format, YES};

/// Prints it; the exit code.
pub(super) fn effective(asked: &Asked) -> Result<i32, String> {
    let set = asked.documents.read()?;
    let profile = set.profile(&asked.profile).map_err(|error| error.to_string())?;
    let rules = |op| profile.rules(op).iter().map(Told::new).collect::<Vec<_>>();
    let (read, modify) = (rules(Op::Read), rules(Op::Modify));
    match asked.format() {
        Format::Json => {
            let json = serde_json::json!({
                "policy": set.name, "profile": profile.name, "read": read, "modify": modify,
            });
            let json = serde_json::to_string_pretty(&json).map_err(|error| error.to_string())?;
            crate::say::line(format_args!("{json}"));
        }
        Format::Text => print(&set.name, &profile, [("read", read), ("modify", modify)]),
    }
    Ok(YES)
}

fn print(policy: &str, profile: &Profile, lists: [(&str, Vec<Told>); 2]) {
    crate::say::line(format_args!(
        "profile {} of policy {policy}; of the rules that match, the last decides",
        profile.name
    ));
    for (op, rules) in lists {
        crate::say::line(format_args!("{op}:"));
        rules.iter().for_each(|rule| crate::say::line(format_args!("  {}", rule.text())));
        if rules.is_empty() {
            crate::say::line(format_args!("  nothing is allowed"));
        }
    }
}
