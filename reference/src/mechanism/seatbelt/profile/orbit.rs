//! A profile of orbit documents as a Seatbelt profile: its rules in their order, as there the last
//! one that matches decides, too. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Compiled, CompiledText};

use super::sbpl::{SbplAction, SbplText, literal, regex, subpath};
use super::{agent_paths, baseline, pattern};
use crate::error::Refusal;
use crate::mechanism::path_text;
use crate::policy::orbit::{
    MatchEffect, PatternOrigin, PolicyOperation, ProfileRule, ResolvedProfile,
};

/// Scratch that the dialect leaves open.
const SCRATCH: [&str; 3] = ["/private/tmp", "/private/var/folders", "/tmp"];

/// Programs and libraries, as far as the rest of the platform does not have them.
const PROGRAMS: [&str; 3] = ["/opt/homebrew", "/usr", "/Library/Developer"];

/// The limits of the dialect, left to the host.
const LIMITS: [&str; 3] = [
    "Outside the workspace the platform can be read, and scratch and the state of agents read and written.",
    "The network is the host's: no rule speaks of it.",
    "In a rule `?` stands for one byte, so that it misses letters beyond ASCII.",
];

/// The profile for `profile` over `workspace`, a real path.
pub(crate) fn profile(
    profile: &ResolvedProfile,
    workspace: &Path,
    env: &BTreeMap<String, String>,
    sides: &[PathBuf],
) -> Result<Compiled, Refusal> {
    let root = path_text(workspace)?;
    let mut out = SbplText::new();
    baseline::processes(&mut out);
    baseline::platform(&mut out);
    out.rule(SbplAction::Allow, "file-read*", &PROGRAMS.map(subpath));
    baseline::devices(&mut out);
    out.rule(SbplAction::Allow, "file-read* file-write*", &SCRATCH.map(subpath));
    let states = agent_paths::writable(env);
    if !states.is_empty() {
        out.rule(SbplAction::Allow, "file-read* file-write*", &states);
    }
    out.about(SbplAction::Deny, "file-read* file-write*", subpath(root));
    // Opening a file requires metadata access to the directories above it.
    out.about(SbplAction::Allow, "file-read-metadata", subpath(root));
    rules("file-read*", root, profile.rules(PolicyOperation::Read), &mut out);
    let modify = profile.rules(PolicyOperation::Modify);
    rules("file-write*", root, modify, &mut out);
    pins(root, modify, profile.rules(PolicyOperation::Read), &mut out);
    for side in sides {
        out.about(SbplAction::Allow, "file-read* file-write*", subpath(path_text(side)?));
    }
    baseline::whole_network(&mut out);
    let asks = |op| profile.rules(op).iter().any(|rule| rule.rule.pattern.contains('?'));
    let shown = if asks(PolicyOperation::Read) || asks(PolicyOperation::Modify) { 3 } else { 2 };
    Ok(Compiled {
        text: CompiledText::Sbpl(out.finish()),
        params: Vec::new(),
        values: BTreeMap::new(),
        limits: LIMITS[..shown].iter().map(|limit| (*limit).to_owned()).collect(),
    })
}

fn rules(operations: &str, root: &str, rules: &[ProfileRule], out: &mut SbplText) {
    for (at, rule) in rules.iter().enumerate() {
        let matched = filter(root, &rule.rule.pattern);
        match rule.effect {
            MatchEffect::Grant => out.about(SbplAction::Allow, operations, matched),
            MatchEffect::Refuse => out.about(SbplAction::Deny, operations, matched),
            MatchEffect::Except => {
                // It restores the grants of the profile's own rules before it, and nothing else.
                out.about(SbplAction::Deny, operations, matched.clone());
                if let Some(own) = granted(root, &rules[..at]) {
                    let both = format!("(require-all {matched} {own})");
                    out.about(SbplAction::Allow, operations, both);
                }
            }
        }
    }
}

/// Returns the filter of the profile's own grants; none if there are none.
fn granted(root: &str, rules: &[ProfileRule]) -> Option<String> {
    let own = rules.iter().filter(|rule| {
        matches!(rule.origin, PatternOrigin::Profile | PatternOrigin::Fallback)
            && rule.effect != MatchEffect::Except
    });
    own.fold(None, |before: Option<String>, rule| {
        let matched = filter(root, &rule.rule.pattern);
        match (rule.effect, before) {
            (MatchEffect::Grant, None) => Some(matched),
            (MatchEffect::Grant, Some(before)) => Some(format!("(require-any {matched} {before})")),
            (_, None) => None,
            (_, Some(before)) => Some(format!("(require-all (require-not {matched}) {before})")),
        }
    })
}

/// Returns the filter of one rule.
fn filter(root: &str, rule: &str) -> String {
    let place = |names: &str| format!("{}/{names}", root.trim_end_matches('/'));
    let is_plain = |names: &str| !names.contains(['*', '?']);
    match rule.strip_suffix("/**") {
        _ if rule == "." => literal(root),
        _ if rule == "**" => subpath(root),
        Some(directory) if is_plain(directory) && directory != "." => subpath(&place(directory)),
        None if is_plain(rule) => literal(&place(rule)),
        _ => regex(&pattern::of_orbit(root, rule)),
    }
}

/// Pins the directories above denied paths: moved elsewhere, their content would be free.
fn pins(root: &str, modify: &[ProfileRule], read: &[ProfileRule], out: &mut SbplText) {
    let denied = modify.iter().chain(read).filter(|rule| rule.effect == MatchEffect::Refuse);
    let mut held = vec![root.to_owned()];
    for rule in denied {
        let names: Vec<&str> = rule.rule.pattern.split('/').collect();
        let plain = names.iter().take_while(|name| !name.contains(['*', '?']) && **name != ".");
        let above = plain.count().min(names.len() - 1);
        held.extend((1..=above).map(|count| format!("{root}/{}", names[..count].join("/"))));
    }
    held.sort();
    held.dedup();
    let held: Vec<String> = held.iter().map(|path| literal(path)).collect();
    out.rule(SbplAction::Deny, "file-write-unlink", &held);
}
