//! Warnings of rules whose effect differs from their writer's likely intent ([`doubts`]): reported,
//! never changed.

use std::collections::BTreeSet;
use std::path::Path;

use super::decide::PolicyOperation;
use super::profile::{MatchEffect, PatternOrigin, ProfileRule, ResolvedProfile};

/// Texts with a meaning in other tools, and their meaning here.
const LITERAL: [(&str, &str); 12] = [
    ("\0", "no name has a NUL: it matches nothing"),
    ("$", "no variable is put in: `$` is part of the name"),
    ("://", "it is no address: the name begins with what stands before the colon"),
    ("***", "three stars are `**` and `*`; write `**` between slashes"),
    ("{", "braces are part of the name: write a rule for each"),
    ("}", "braces are part of the name: write a rule for each"),
    ("[", "brackets are part of the name: write a rule for each, or `?`"),
    ("]", "brackets are part of the name: write a rule for each, or `?`"),
    (",", "a comma is part of the name: write a rule for each"),
    ("(", "a call means nothing here: write the path alone"),
    ("\"", "quotes are part of the name"),
    ("'", "quotes are part of the name"),
];

/// Quotes that editors put in the place of plain ones.
const CURLY: [char; 6] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{201a}'];

/// Returns the doubts about the rules of `profile`, a line each; directories are looked up below
/// `workspace`.
pub fn doubts(profile: &ResolvedProfile, workspace: Option<&Path>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for op in [PolicyOperation::Read, PolicyOperation::Modify] {
        let rules = profile.rules(op);
        for (at, rule) in rules.iter().enumerate() {
            let why = literal(&rule.rule.written)
                .map(str::to_owned)
                .or_else(|| directory_alone(rule, rules, workspace))
                .or_else(|| covered(rule, &rules[at + 1..]));
            let Some(place) = &rule.rule.place else { continue };
            found
                .extend(why.map(|why| format!("{place}: warning: `{}`: {why}", rule.rule.written)));
        }
    }
    found
}

fn literal(written: &str) -> Option<&'static str> {
    if written.contains(CURLY) {
        return Some("quotes are part of the name, curly ones, too");
    }
    let mut letters = written.trim_start_matches('!').chars();
    let drive =
        letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if drive && matches!(letters.next(), Some('/' | '\\')) {
        return Some("a drive means nothing here: write the path below the workspace");
    }
    LITERAL.iter().find(|(sign, _)| written.contains(sign)).map(|(_, why)| *why)
}

/// Returns the doubt about a denial of a directory that closes none of its entries.
fn directory_alone(
    rule: &ProfileRule,
    rules: &[ProfileRule],
    workspace: Option<&Path>,
) -> Option<String> {
    let pattern = &rule.rule.pattern;
    let all = format!("{pattern}/**");
    let meant = rules.iter().any(|other| other.rule.pattern == all);
    if rule.effect != MatchEffect::Refuse || pattern.contains(['*', '?']) || pattern == "." || meant
    {
        return None;
    }
    let is_directory = workspace.is_some_and(|root| root.join(pattern).is_dir());
    let slash = rule.rule.written.ends_with('/');
    (is_directory || slash)
        .then(|| format!("it denies the directory alone; what is in it: `{all}`"))
}

/// A rule behind which another one of the profile matches all that it does.
fn covered(rule: &ProfileRule, later: &[ProfileRule]) -> Option<String> {
    if rule.origin != PatternOrigin::Profile {
        return None;
    }
    let own = later.iter().filter(|other| other.origin == PatternOrigin::Profile);
    let covers = |other: &&ProfileRule| {
        let (all, one) = (&other.rule.pattern, &rule.rule.pattern);
        let below = all.strip_suffix("/**").filter(|directory| !directory.contains(['*', '?']));
        let is_below = below.is_some_and(|directory| {
            one.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        all == "**" || all == one || is_below
    };
    let other = own.rev().find(covers)?;
    Some(format!(
        "it never decides: `{}` comes later and matches all that it does",
        other.rule.written
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{PolicyDocument, PolicySet};
    use super::*;
    use rstest::rstest;

    fn found(rules: &str, workspace: Option<&Path>) -> Vec<String> {
        let text = format!(
            "schemaVersion: 2\nkind: Policy\nmetadata: {{name: d}}\nspec:\n  fsProfiles:\n    p:\n      read: {rules}\n"
        );
        let document = PolicyDocument::parse("d.yaml", "d.yaml", &text).unwrap();
        let profile = PolicySet::new(&document, None).unwrap().profile("p").unwrap();
        doubts(&profile, workspace).into_iter().collect()
    }

    #[rstest]
    #[case("['$HOME/.ssh/**']", "no variable")]
    #[case("['${HOME}/x']", "no variable")]
    #[case("['C:/x/**']", "a drive")]
    #[case("['**/*.{pem,key}']", "braces")]
    #[case("['[ab].txt']", "brackets")]
    #[case("['src/***']", "three stars")]
    #[case("['file:///etc']", "no address")]
    #[case("['Read(./.env)']", "a call")]
    #[case("['.env,.env.local']", "a comma")]
    #[case("['\u{201c}a\u{201d}']", "curly")]
    #[case("['utilities/**', '!**']", "`utilities/**`: it never decides: `!**`")]
    #[case("['src/a', 'src/**']", "`src/a`: it never decides")]
    #[case("['**', '!secrets/']", "the directory alone")]
    #[case("['**', '!there']", "the directory alone")]
    fn what_is_doubtful_is_told_with_its_place(#[case] rules: &str, #[case] why: &str) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("there")).unwrap();
        let found = found(rules, Some(directory.path()));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(why) && found[0].starts_with("d.yaml:7:"), "{found:?}");
    }

    #[rstest]
    #[case("['**', '!src/s/**', 'src/s/ok']")]
    #[case("['src/**', '!src/s/**']")]
    #[case("['a-b_c.d/@x/~y', '*', '**/*.rs']")]
    #[case("['a/b', '1:/x']")]
    #[case("['there']")]
    #[case("['**', '!there/**', '!there']")]
    #[case("['**', '!./']")]
    #[case("['**', '!ther?/']")]
    fn plain_rules_are_not_doubted(#[case] rules: &str) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("there")).unwrap();
        assert_eq!(found(rules, Some(directory.path())), [""; 0]);
    }
}
