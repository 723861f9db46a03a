//! From documents of the orbit dialect to the law of one profile: profile rules, then every deny
//! as a negated rule; the last that matches decides. Pure.

mod document;
mod rule;

use std::path::Path;
use std::sync::Arc;

use boxproof_cases::protocol::Document;

use crate::error::Refusal;
use crate::law::{Judge, Law, Line, Op};

use document::Spec;
use rule::Rule;

/// The profile that exists without being written down: everything but the denies.
const UNRESTRICTED: &str = "unrestricted";

/// The rules of both operations, in order.
struct Effective {
    read: Vec<Rule>,
    modify: Vec<Rule>,
}

impl Judge for Effective {
    fn allows(&self, op: Op, path: &Path) -> bool {
        let rules = match op {
            Op::Read => &self.read,
            Op::Modify => &self.modify,
        };
        rules.iter().rev().find(|rule| rule.matches(path)).is_some_and(|rule| rule.grants)
    }
}

/// The law of `profile` in `documents`, the host's first.
pub(crate) fn law(documents: &[Document], profile: &str) -> Result<Law, Refusal> {
    let spec = document::merged(documents)?;
    let effective = effective(&spec, profile)?;
    let lines = |rules: &[Rule]| rules.iter().map(Rule::line).collect::<Vec<Line>>();
    let (read, modify) = (lines(&effective.read), lines(&effective.modify));
    Ok(Law::new(Arc::new(effective), read, modify))
}

fn effective(spec: &Spec, name: &str) -> Result<Effective, Refusal> {
    let everything = || vec!["**".to_owned()];
    let (read, modify) = match spec.profiles.get(name) {
        Some(profile) => (profile.read.clone(), profile.modify.clone()),
        None if name == UNRESTRICTED => (everything(), everything()),
        None => {
            return Err(Refusal::invalid(format!(
                "the documents define no fsProfile `{name}`; name one that they do"
            )));
        }
    };
    Ok(Effective {
        read: rules(&read, &spec.deny_read)?,
        modify: rules(&modify, &spec.deny_modify)?,
    })
}

fn rules(granted: &[String], denied: &[String]) -> Result<Vec<Rule>, Refusal> {
    let denied = denied.iter().map(|text| Rule::deny(text));
    granted.iter().map(|text| Rule::read(text)).chain(denied).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn document(spec: &str) -> Document {
        let head = "schemaVersion: 2\nkind: Policy\nmetadata: {name: default}\nspec: ";
        Document { name: "policy.yaml".into(), text: format!("{head}{spec}\n") }
    }

    #[rstest]
    #[case::subtree("{read: ['src/**']}", "src/a", true)]
    #[case::subtree_itself("{read: ['src/**']}", "src", true)]
    #[case::no_prefix_bleed("{read: ['src/**']}", "srcx/a", false)]
    #[case::root("{read: ['src/**']}", "", false)]
    #[case::one_level("{read: ['src/*']}", "src/a/b", false)]
    #[case::hidden_name("{read: ['src/*']}", "src/.h", true)]
    #[case::brackets("{read: ['[ab].rs']}", "a.rs", false)]
    #[case::brackets_literally("{read: ['[ab].rs']}", "[ab].rs", true)]
    #[case::last_wins("{read: ['!src/s/**', 'src/**']}", "src/s/k", true)]
    #[case::negated("{read: ['src/**', '!src/s/**']}", "src/s/k", false)]
    #[case::hole("{read: ['src/**', '!src/s/**', 'src/s/ok']}", "src/s/ok", true)]
    #[case::any_folder("{read: ['a/**/b']}", "a/x/y/b", true)]
    #[case::no_folder("{read: ['a/**/b']}", "a/b", true)]
    #[case::wild_subtree("{read: ['**/gen/**']}", "x/gen/y/z", true)]
    #[case::newline("{read: ['a/*']}", "a/x\ny", true)]
    #[case::nothing("{}", "a", false)]
    fn profiles_decide(#[case] profile: &str, #[case] path: &str, #[case] allowed: bool) {
        let documents = [document(&format!("{{fsProfiles: {{p: {profile}}}}}"))];
        assert_eq!(law(&documents, "p").unwrap().allows(Op::Read, Path::new(path)), allowed);
    }

    #[test]
    fn denies_come_last_and_add_up_and_profiles_are_replaced_whole() {
        let host = document(
            "{denyRead: ['k/**'], denyModify: ['g/**'], fsProfiles: {p: {read: ['x/**']}}}",
        );
        let own = document(
            "{denyRead: ['l'], fsProfiles: {p: {read: ['**', 'k/open'], modify: ['**']}}}",
        );
        let law = law(&[host, own], "p").unwrap();
        let may = |op, path| law.allows(op, Path::new(path));
        assert!(may(Op::Read, "y") && may(Op::Read, "g/a") && may(Op::Modify, "k/a"));
        assert!(!may(Op::Read, "k/open") && !may(Op::Read, "l") && !may(Op::Modify, "g/a"));
    }

    #[test]
    fn unrestricted_is_everything_but_the_denies_unless_it_is_written_down() {
        let law_of = |spec: &str| law(&[document(spec)], UNRESTRICTED).unwrap();
        let all = law_of("{denyRead: [s]}");
        assert!(all.allows(Op::Modify, Path::new("s")) && !all.allows(Op::Read, Path::new("s")));
        let shadowed = law_of("{fsProfiles: {unrestricted: {}}}");
        assert!(!shadowed.allows(Op::Read, Path::new("a")));
    }

    #[rstest]
    #[case::profile("{}", "no fsProfile `p`")]
    #[case::member("{denyExec: []}", "denyExec")]
    #[case::escape("{fsProfiles: {p: {read: ['../x']}}}", "must stay inside the workspace root")]
    #[case::inner_escape("{fsProfiles: {p: {read: ['a/../x']}}}", "must stay inside")]
    #[case::absolute("{fsProfiles: {p: {read: [/x]}}}", "must stay inside")]
    #[case::home("{fsProfiles: {p: {read: ['~/x']}}}", "must stay inside")]
    #[case::empty("{fsProfiles: {p: {read: [' ']}}}", "empty path rule")]
    #[case::negated_deny("{denyRead: ['!a'], fsProfiles: {p: {}}}", "cannot be an exception")]
    #[case::stars("{fsProfiles: {p: {read: ['a**b']}}}", "stands alone between slashes")]
    fn what_is_no_policy_is_refused(#[case] spec: &str, #[case] why: &str) {
        let refusal = law(&[document(spec)], "p").unwrap_err();
        assert!(refusal.message.contains(why), "{}", refusal.message);
    }

    #[rstest]
    #[case("schemaVersion: 1\n", "schemaVersion 1")]
    #[case("schemaVersion: 2\nkind: Job\nmetadata: {name: x}\nspec: {}\n", "kind Policy")]
    #[case(
        "schemaVersion: 2\nkind: Policy\nmetadata: {name: x}\ndenyRead: []\nspec: {}\n",
        "denyRead"
    )]
    fn documents_of_another_kind_are_refused(#[case] text: &str, #[case] why: &str) {
        let document = Document { name: "d".into(), text: text.into() };
        let refusal = law(&[document], "p").unwrap_err();
        assert!(refusal.message.contains(why), "{}", refusal.message);
    }
}
