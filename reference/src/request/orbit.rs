//! The law of one profile, from documents of the orbit dialect. Pure.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use boxproof_cases::protocol::{Document as Sent, WirePath};

use crate::error::Refusal;
use crate::policy::agent_state::AgentState;
use crate::policy::orbit::{
    self, MatchEffect, PolicyDocument, PolicyError, PolicySet, ResolvedProfile,
};
use crate::policy::path_rules::{PathAccess, PathDecider, PathRule, PathRules};

impl PathDecider for ResolvedProfile {
    fn remedy(&self, op: PathAccess, path: &Path, called: &str) -> String {
        let names: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).collect();
        Self::remedy(self, asked(op), &orbit::spelled(&names), called)
    }

    fn allows(&self, op: PathAccess, path: &Path) -> bool {
        let names: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).collect();
        // The decision is about the spelling that a request for the path would use.
        self.decide(asked(op), &orbit::spelled(&names)).allowed
    }
}

fn asked(op: PathAccess) -> orbit::PolicyOperation {
    match op {
        PathAccess::Read => orbit::PolicyOperation::Read,
        PathAccess::Modify => orbit::PolicyOperation::Modify,
    }
}

/// The law of `profile` in `documents`: the host's, then the workspace's if there is one.
pub(crate) fn law(documents: &[Sent], profile: &str) -> Result<PathRules, Refusal> {
    let profile = resolve_profile(documents, profile)?;
    let lines =
        |op: PathAccess| profile.rules(asked(op)).iter().map(line).collect::<Vec<PathRule>>();
    let (read, modify) = (lines(PathAccess::Read), lines(PathAccess::Modify));
    Ok(PathRules::new(Arc::new(profile), read, modify))
}

/// Returns the paths of `state` that exist outside `workspace`, inside which the profile decides.
pub(crate) fn state(state: &AgentState, workspace: &Path) -> Vec<WirePath> {
    let root = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let outside = |place: &&String| {
        Path::new(place).canonicalize().is_ok_and(|real| !real.starts_with(&root))
    };
    state.places().filter(outside).map(|place| place.as_str().into()).collect()
}

/// `profile` of `documents`, in force.
pub(crate) fn resolve_profile(
    documents: &[Sent],
    profile: &str,
) -> Result<ResolvedProfile, Refusal> {
    let (host, workspace) = match documents {
        [host] => (host, None),
        [host, workspace] => (host, Some(workspace)),
        _ => {
            let message = "documents: name one, the host's, or two, the host's and the workspace's";
            return Err(Refusal::invalid(message));
        }
    };
    in_force(host, workspace, profile).map_err(|error| Refusal::invalid(error.to_string()))
}

fn in_force(
    host: &Sent,
    workspace: Option<&Sent>,
    profile: &str,
) -> Result<ResolvedProfile, PolicyError> {
    let parse = |sent: &Sent| PolicyDocument::parse(&sent.name, &sent.name, &sent.text);
    let workspace = workspace.map(parse).transpose()?;
    PolicySet::new(&parse(host)?, workspace.as_ref())?.profile(profile)
}

/// Converts a rule. An exception may grant, so that each name that it matches is judged.
fn line(rule: &orbit::ProfileRule) -> PathRule {
    PathRule::new(rule.effect != MatchEffect::Refuse, &rule.rule.pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn document(spec: &str) -> Sent {
        let head = "schemaVersion: 2\nkind: Policy\nmetadata: {name: default}\nspec: ";
        Sent { name: "policy.yaml".into(), text: format!("{head}{spec}\n") }
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
    #[case::any_directory("{read: ['a/**/b']}", "a/x/y/b", true)]
    #[case::no_directory("{read: ['a/**/b']}", "a/b", true)]
    #[case::wild_subtree("{read: ['**/gen/**']}", "x/gen/y/z", true)]
    #[case::newline("{read: ['a/*']}", "a/x\ny", true)]
    #[case::runs("{read: ['a**b']}", "a/x/b", true)]
    #[case::nothing("{}", "a", false)]
    fn profiles_decide(#[case] profile: &str, #[case] path: &str, #[case] allowed: bool) {
        let documents = [document(&format!("{{fsProfiles: {{p: {profile}}}}}"))];
        assert_eq!(
            law(&documents, "p").unwrap().allows(PathAccess::Read, Path::new(path)),
            allowed
        );
    }

    /// Rules of every shape.
    const RULES: [&str; 16] = [
        "**",
        "*",
        "**/*.env",
        "secret/**",
        "a",
        "a/b",
        "a/**",
        "?",
        "?/**",
        "*.e?v",
        "a/*/b",
        "**/b",
        "a**b",
        "b\\a",
        "[ab]",
        "a/?",
    ];

    proptest::proptest! {
        /// Checks that a path asked about by its own name is decided as the command finds it, for
        /// all names; and that a statement about a directory holds for all its entries.
        #[test]
        fn what_is_decided_is_what_is_enforced(
            rules in proptest::collection::vec((proptest::bool::ANY, 0..RULES.len()), 1..5),
            names in proptest::collection::vec(
                proptest::collection::vec(odd_byte(), 1..6), 1..4),
        ) {
            let is_name = |name: &Vec<u8>| name != b"." && name != b"..";
            proptest::prop_assume!(names.iter().all(is_name));
            let sign = |grants: &bool| if *grants { "" } else { "!" };
            let list: Vec<String> =
                rules.iter().map(|(grants, at)| format!("'{}{}'", sign(grants), RULES[*at])).collect();
            let profile = format!("{{read: ['**', {0}], modify: [{0}]}}", list.join(", "));
            let documents = [document(&format!("{{fsProfiles: {{p: {profile}}}}}"))];
            let (law, of) = (law(&documents, "p").unwrap(), resolve_profile(&documents, "p").unwrap());
            let raw = names.join(&b'/');
            let path = Path::new(std::ffi::OsStr::from_bytes(&raw));
            if let Ok(told) = orbit::WorkspacePath::from_bytes(&raw) {
                for op in [PathAccess::Read, PathAccess::Modify] {
                    let decided = of.decide(asked(op), &told.names).allowed;
                    proptest::prop_assert_eq!(law.allows(op, path), decided, "{:?} {:?}", path, list);
                    let directory = path.parent().unwrap();
                    if law.is_uniform(directory) {
                        proptest::prop_assert_eq!(law.allows(op, directory), decided, "{:?} in {:?}", path, list);
                    }
                }
                // Two spellings that no name is made in: see the limits.
                let blank = String::from_utf8_lossy(names.last().unwrap()).trim().is_empty();
                let made = !blank && !raw.contains(&b'\\') && law.allows(PathAccess::Modify, path);
                proptest::prop_assert!(!made || law.is_open(path.parent().unwrap()), "{:?} {:?}", path, list);
            }
        }
    }

    /// A byte of a name: one that means something, or any.
    fn odd_byte() -> impl proptest::strategy::Strategy<Value = u8> {
        use proptest::strategy::Strategy as _;
        let telling = b" \t\n\r\x0b\\*?[]{}!~.aabe\xc3\xa9\xff\x01".to_vec();
        proptest::prop_oneof![
            6 => proptest::sample::select(telling),
            1 => (1_u8..=255).prop_filter("no slash", |byte| *byte != b'/'),
        ]
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
        assert!(
            may(PathAccess::Read, "y")
                && may(PathAccess::Read, "g/a")
                && may(PathAccess::Modify, "k/a")
        );
        assert!(
            !may(PathAccess::Read, "k/open")
                && !may(PathAccess::Read, "l")
                && !may(PathAccess::Modify, "g/a")
        );
    }

    #[test]
    fn unrestricted_is_everything_but_the_denies_unless_it_is_written_down() {
        let law_of = |spec: &str| law(&[document(spec)], "unrestricted").unwrap();
        let all = law_of("{denyRead: [s]}");
        assert!(
            all.allows(PathAccess::Modify, Path::new("s"))
                && !all.allows(PathAccess::Read, Path::new("s"))
        );
        let shadowed = law_of("{fsProfiles: {unrestricted: {}}}");
        assert!(!shadowed.allows(PathAccess::Read, Path::new("a")));
    }

    #[rstest]
    #[case::profile("{}", "does not define fsProfile `p`")]
    #[case::member("{denyExec: []}", "denyExec")]
    #[case::escape("{fsProfiles: {p: {read: ['../x']}}}", "must stay inside the workspace root")]
    #[case::inner_escape("{fsProfiles: {p: {read: ['a/../x']}}}", "must stay inside")]
    #[case::absolute("{fsProfiles: {p: {read: [/x]}}}", "must stay inside")]
    #[case::home("{fsProfiles: {p: {read: ['~/x']}}}", "must stay inside")]
    #[case::empty("{fsProfiles: {p: {read: [' ']}}}", "empty path rule")]
    #[case::negated_deny("{denyRead: ['!a'], fsProfiles: {p: {}}}", "cannot be an exception")]
    #[case::uncovered("{fsProfiles: {p: {modify: [a]}}}", "not covered by any read rule")]
    fn what_is_no_policy_is_refused(#[case] spec: &str, #[case] why: &str) {
        let refusal = law(&[document(spec)], "p").unwrap_err();
        assert!(refusal.message.contains(why), "{}", refusal.message);
    }

    #[rstest]
    #[case("schemaVersion: 1\nkind: Policy\n", "schemaVersion 1")]
    #[case("schemaVersion: 2\nkind: Job\nmetadata: {name: x}\nspec: {}\n", "kind Policy")]
    #[case(
        "schemaVersion: 2\nkind: Policy\nmetadata: {name: x}\ndenyRead: []\nspec: {}\n",
        "denyRead"
    )]
    fn documents_of_another_kind_are_refused(#[case] text: &str, #[case] why: &str) {
        let document = Sent { name: "d".into(), text: text.into() };
        let refusal = law(&[document], "p").unwrap_err();
        assert!(refusal.message.contains(why), "{}", refusal.message);
    }
}
