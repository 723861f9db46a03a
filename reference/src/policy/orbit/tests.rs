//! Documents from text to decision.

use rstest::rstest;

use super::*;

/// A document of these lines below `spec`.
fn document(spec: &str) -> Result<PolicyDocument, PolicyError> {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text =
        format!("schemaVersion: 2\nkind: Policy\nmetadata: {{name: default}}\nspec:\n{spec}");
    PolicyDocument::parse("policy default", "p.yaml", &text)
}

fn policy(spec: &str) -> Result<PolicySet, PolicyError> {
    PolicySet::new(&document(spec)?, None)
}

/// Returns the decision, as `allow RULE` or `deny RULE`.
fn decided(set: &PolicySet, profile: &str, op: PolicyOperation, path: &str) -> String {
    decided_by(&set.profile(profile).unwrap(), op, path)
}

fn decided_by(profile: &ResolvedProfile, op: PolicyOperation, path: &str) -> String {
    let asked = match WorkspacePath::new(path) {
        Ok(asked) => asked,
        Err(error) => return error.to_string(),
    };
    let decision = profile.decide(op, &asked.names);
    let word = if decision.allowed { "allow" } else { "deny" };
    format!("{word} {}", decision.winner.matched_rule())
}

const P: &str = "fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}\n";

#[rstest]
#[case::by_deny("denyRead: [secrets/**]", PolicyOperation::Read, "secrets/k", "deny secrets/**")]
#[case::deny_of_the_other(
    "denyRead: [secrets/**]",
    PolicyOperation::Modify,
    "secrets/k",
    "allow **"
)]
#[case::deny_modify("denyModify: [g/**]", PolicyOperation::Modify, "g/x", "deny g/**")]
#[case::read_stays("denyModify: [g/**]", PolicyOperation::Read, "g/x", "allow **")]
#[case::deny_anywhere(
    "denyRead: [\"**/secrets/**\"]",
    PolicyOperation::Read,
    "a/secrets/k",
    "deny **/secrets/**"
)]
#[case::spelled_otherwise(
    "denyRead: [secret/key]",
    PolicyOperation::Read,
    "secret//./key/",
    "deny secret/key"
)]
#[case::line_feed("denyRead: [secret/**]", PolicyOperation::Read, "secret/a\nb", "deny secret/**")]
#[case::no_bleed("denyRead: [secret/**]", PolicyOperation::Read, "secret-adjacent/x", "allow **")]
#[case::exception(
    "denyModify: [a/**, \"!a/b/**\"]",
    PolicyOperation::Modify,
    "a/b/c",
    "allow a/b/**"
)]
#[case::quoted_exception(
    "denyModify: [a/**, \"!a/x !y\"]",
    PolicyOperation::Modify,
    "a/x !y",
    "allow a/x !y"
)]
#[case::beside_it("denyModify: [a/**, \"!a/b/**\"]", PolicyOperation::Modify, "a/c", "deny a/**")]
#[case::denied_again(
    "denyModify: [a/**, \"!a/b/**\", a/b/x]",
    PolicyOperation::Modify,
    "a/b/x",
    "deny a/b/x"
)]
fn denies_win(
    #[case] denies: &str,
    #[case] op: PolicyOperation,
    #[case] path: &str,
    #[case] expected: &str,
) {
    let set = policy(&format!("{denies}\n{P}")).unwrap();
    assert_eq!(decided(&set, "p", op, path), expected);
}

#[rstest]
#[case("[src/**]", "src", "allow src/**")]
#[case("[src/**]", ".", "deny <no matching rule>")]
#[case("[src/**, \"!src/s/**\"]", "src/s/k", "deny src/s/**")]
#[case("[\"!src/s/**\", src/**]", "src/s/k", "allow src/**")]
#[case("[src/**, \"!src/s/**\", src/s/ok]", "src/s/ok", "allow src/s/ok")]
#[case("[src/a.rs, src/**]", "src/a.rs", "allow src/**")]
#[case("[\"!src/**\"]", "src/a", "deny src/**")]
#[case("[]", "a", "deny []")]
#[case(
    "[\"**\"]",
    "../x",
    "invalid input: filesystem path `../x` must stay inside the workspace root"
)]
fn the_last_rule_that_matches_decides(
    #[case] read: &str,
    #[case] path: &str,
    #[case] expected: &str,
) {
    let set = policy(&format!("fsProfiles: {{p: {{read: {read}}}}}")).unwrap();
    let profile = set.profile("p").unwrap();
    // By single rules, and by the index.
    for _ in 0..8 {
        assert_eq!(decided_by(&profile, PolicyOperation::Read, path), expected);
    }
}

/// Checks that an exception allows no more than the profile does.
#[rstest]
#[case("[]", "deny a/**")]
#[case("[c/**]", "deny a/**")]
#[case("[a/b/**]", "allow a/b/**")]
fn an_exception_grants_nothing(#[case] modify: &str, #[case] expected: &str) {
    let spec = format!(
        "denyModify: [a/**, \"!a/b/**\"]\nfsProfiles: {{p: {{read: [\"**\"], modify: {modify}}}}}"
    );
    assert_eq!(decided(&policy(&spec).unwrap(), "p", PolicyOperation::Modify, "a/b/x"), expected);
}

#[test]
fn a_profile_that_nobody_has_is_an_error_but_for_one() {
    let set = policy("denyRead: [s/**]").unwrap();
    assert_eq!(decided(&set, "unrestricted", PolicyOperation::Read, "a"), "allow **");
    assert_eq!(decided(&set, "unrestricted", PolicyOperation::Read, "s/k"), "deny s/**");
    for name in ["nope", "Unrestricted", " unrestricted", ""] {
        let why = set.profile(name).unwrap_err().message;
        let said =
            format!("policy `default` does not define fsProfile `{name}`; it has unrestricted");
        assert_eq!(why, said);
    }
    let shadowed = policy("fsProfiles: {unrestricted: {read: []}}").unwrap();
    assert_eq!(decided(&shadowed, "unrestricted", PolicyOperation::Read, "a"), "deny []");
}

#[rstest]
#[case::dotdot(
    "denyRead: [../x]",
    "5:14",
    "spec.denyRead rule `../x` must stay inside the workspace root"
)]
#[case::empty("denyModify: ['  ']", "5:16", "spec.denyModify contains an empty path rule")]
#[case::in_profile(
    "fsProfiles: {p: {read: [a/../b]}}",
    "5:27",
    "spec.fsProfiles.p.read rule `a/../b` must stay inside the workspace root"
)]
#[case::read_exception(
    "denyRead: ['!a']",
    "5:14",
    "spec.denyRead rule `!a` cannot be an exception"
)]
#[case::stray_exception(
    "denyModify: ['!a/b']",
    "5:16",
    "spec.denyModify rule `!a/b` must be strictly contained by an earlier denyModify rule"
)]
#[case::wild_exception(
    "denyModify: [a/**, '!a/*']",
    "5:22",
    "spec.denyModify rule `!a/*` must be an exact path or `<path>/**`"
)]
#[case::uncovered(
    "fsProfiles: {p: {read: [a/**], modify: [b/**]}}",
    "5:43",
    "policy `default` fsProfile `p` has modify rule `b/**` that is not covered by any read rule"
)]
#[case::duplicate(
    "denyRead: [b/**]\nfsProfiles: {p: {read: [./b/**]}}",
    "6:27",
    "policy `default` fsProfile `p` read rule `b/**` duplicates global denyRead entry"
)]
#[case::duplicate_modify(
    "denyRead: [b/**]\nfsProfiles: {p: {read: ['**'], modify: [b/**]}}",
    "6:43",
    "policy `default` fsProfile `p` modify rule `b/**` duplicates global denyRead entry"
)]
#[case::duplicate_deny_modify(
    "denyModify: [b/**]\nfsProfiles: {p: {read: ['**'], modify: [b/**]}}",
    "6:43",
    "policy `default` fsProfile `p` modify rule `b/**` duplicates global denyModify entry"
)]
#[case::nameless(
    "fsProfiles: {'': {read: [a]}}",
    "5:20",
    "policy `default` has an empty fsProfile name"
)]
fn what_is_no_policy_is_told(#[case] spec: &str, #[case] at: &str, #[case] message: &str) {
    let error = policy(spec).unwrap_err();
    assert_eq!(error.message, message);
    assert_eq!(error.to_string(), format!("p.yaml:{at}: invalid input: {message}"));
}

#[rstest]
#[case::old(
    "schemaVersion: 1\nkind: Policy",
    "1:16",
    "policy schemaVersion 1 is no longer supported; migrate to schemaVersion 2 with `spec.denyRead`, `spec.denyModify`, and `spec.fsProfiles`"
)]
#[case::new("schemaVersion: 3\nkind: Policy", "1:16", "unsupported policy schemaVersion 3")]
#[case::kind_first("schemaVersion: 1\nkind: Job", "2:7", "expected kind Policy, found Job")]
fn the_header_is_looked_at_first(#[case] text: &str, #[case] at: &str, #[case] why: &str) {
    let error = PolicyDocument::parse("policy default", "p.yaml", text).unwrap_err();
    let told = format!("p.yaml:{at}: invalid input: failed to parse policy default: {why}");
    assert_eq!(error.to_string(), told);
}

#[rstest]
#[case::quoted_version("schemaVersion: '2'\nkind: Policy\nmetadata: {name: a}\nspec: {}", 1, "")]
#[case::long_quoted_version(
    "schemaVersion: \"22\"\nkind: Policy\nmetadata: {name: a}\nspec: {}",
    1,
    "invalid type: string \"22\""
)]
#[case::lower_kind("schemaVersion: 2\nkind: policy\nmetadata: {name: a}\nspec: {}", 2, "policy")]
#[case::no_metadata("schemaVersion: 2\nkind: Policy\nspec: {}", 3, "metadata")]
#[case::deny_exec(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {denyExec: []}",
    4,
    "denyExec"
)]
#[case::deny_outside(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\ndenyRead: []\nspec: {}",
    4,
    "denyRead"
)]
#[case::exec_list(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {fsProfiles: {p: {exec: []}}}",
    4,
    "exec"
)]
#[case::twice(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  denyRead: []\n  denyRead: [a]",
    6,
    "denyRead"
)]
#[case::profile_twice(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  fsProfiles:\n    p: {}\n    p: {}",
    7,
    "p"
)]
#[case::scalar("schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {denyRead: a}", 4, "")]
#[case::tag(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  denyRead:\n    - !foo",
    6,
    "write \"!foo\""
)]
#[case::tag_in_a_line(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {denyRead: [a/**, !b c, &d e]}",
    4,
    "write \"!b\""
)]
#[case::exception_in_a_line(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {denyModify: [a/**, !a/b, c]}",
    4,
    "write \"!a/b\""
)]
#[case::anchor(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {denyRead: [&d e]}",
    4,
    "write \"&d\""
)]
#[case::alias(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  denyRead:\n    - **/x",
    6,
    "write \"**/x\""
)]
#[case::time(
    "schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec:\n  created_at: yesterday",
    5,
    "spec.created_at is no RFC 3339 time"
)]
#[case::two("schemaVersion: 2\nkind: Policy\nmetadata: {name: a}\nspec: {}\n---\na: 1", 6, "")]
fn a_malformed_document_is_located(#[case] text: &str, #[case] line: usize, #[case] says: &str) {
    let error = PolicyDocument::parse("policy a", "p.yaml", text).unwrap_err();
    assert_eq!(error.place.as_ref().unwrap().line, line, "{error}");
    assert!(error.message.starts_with("failed to parse policy a: "), "{error}");
    assert!(error.message.contains(says), "{error}");
}

#[test]
fn empty_members_are_empty_lists() {
    let set = policy("denyRead:\ndenyModify:\nfsProfiles: {a: , b: {read: }}").unwrap();
    assert_eq!(set.profile_names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(decided(&set, "a", PolicyOperation::Read, "x"), "deny []");
}

fn merged(host: &str, workspace: &str) -> Result<PolicySet, PolicyError> {
    PolicySet::new(&document(host)?, Some(&document(workspace)?))
}

#[test]
fn a_workspace_replaces_a_profile_and_adds_denies() {
    let host = "denyRead: [a/**]\nfsProfiles: {p: {read: [x/**]}, q: {read: [\"**\"]}}";
    let set = merged(host, "denyRead: [b/**]\nfsProfiles: {p: {read: [y/**]}}").unwrap();
    assert_eq!(decided(&set, "p", PolicyOperation::Read, "x/a"), "deny <no matching rule>");
    assert_eq!(decided(&set, "q", PolicyOperation::Read, "a/x"), "deny a/**");
    assert_eq!(decided(&set, "q", PolicyOperation::Read, "b/x"), "deny b/**");
    let origins: Vec<&str> = set
        .profile("q")
        .unwrap()
        .rules(PolicyOperation::Read)
        .iter()
        .map(|rule| rule.origin.origin_name())
        .collect();
    assert_eq!(origins, ["profile", "global deny", "workspace deny"]);
}

#[rstest]
#[case::own_rule_denied(
    "denyRead: [y/**]",
    "fsProfiles: {p: {read: [y/**]}}",
    "duplicates global denyRead entry"
)]
#[case::new_exception(
    "denyModify: [.orbit/**]",
    "denyModify: ['!.orbit/state/**']",
    "is outside the host policy exception surface"
)]
fn a_workspace_takes_nothing_away(#[case] host: &str, #[case] over: &str, #[case] why: &str) {
    let error = merged(host, over).unwrap_err();
    assert!(error.message.ends_with(why), "{error}");
}

#[test]
fn an_empty_list_of_a_workspace_erases_nothing() {
    let host = "denyRead: [a/**]\nfsProfiles: {p: {read: [\"**\"]}}";
    assert_eq!(
        decided(&merged(host, "denyRead: []").unwrap(), "p", PolicyOperation::Read, "a/x"),
        "deny a/**"
    );
}

#[test]
fn a_workspace_repeats_what_its_host_has_without_effect() {
    let host = "denyModify: [a/**, '!a/b']\nfsProfiles: {p: {read: ['**'], modify: ['**']}}";
    let set = merged(host, "denyModify: [a/**, '!a/b', c/**]").unwrap();
    let profile = set.profile("p").unwrap();
    let rules: Vec<_> =
        profile.rules(PolicyOperation::Modify).iter().map(|one| &*one.rule.written).collect();
    assert_eq!(rules, ["**", "a/**", "!a/b", "c/**"]);
}

#[rstest]
#[case(Some("2026-01-02T00:00:00Z"), Some("2026-01-01T23:00:00-02:00"), 1)]
#[case(Some("2026-01-02T00:00:00Z"), Some("2026-01-01T23:00:00Z"), 0)]
#[case(None, Some("2026-01-01T23:00:00Z"), 1)]
#[case(Some("2026-01-02T00:00:00Z"), None, 0)]
fn the_last_change_of_either_document_counts(
    #[case] host: Option<&str>,
    #[case] over: Option<&str>,
    #[case] later: usize,
) {
    let spec =
        |time: Option<&str>| time.map_or("{}".to_owned(), |time| format!("updated_at: '{time}'"));
    let set = merged(&spec(host), &spec(over)).unwrap();
    assert_eq!(set.updated_at.as_deref(), [host, over][later]);
}

const DENIES: &str = "denyRead: [s/**, t/*]\ndenyModify: [a/**, \"!a/b\", c]\n\
                      fsProfiles: {p: {read: [r/**, \"!r/x\", s/k/**], modify: [r/**]}}";

#[rstest]
#[case(PolicyOperation::Read, "z", "add `z` to `read` of the profile p")]
#[case(
    PolicyOperation::Read,
    "r/x",
    "put `r/x` behind `!r/x` at p.yaml:7 in `read` of the profile p"
)]
#[case(
    PolicyOperation::Read,
    "s/k/f",
    "no profile can lift a deny; narrow or remove `s/**` at p.yaml:5"
)]
#[case(
    PolicyOperation::Read,
    "s/f",
    "no profile can lift a deny; narrow or remove `s/**` at p.yaml:5, and add `s/f` to `read` of the profile p"
)]
#[case(
    PolicyOperation::Modify,
    "a/f",
    "no profile can lift a deny; put the exception `!a/f` behind `a/**` at p.yaml:6 in the host's document, or narrow that rule, and add `a/f` to `modify` of the profile p"
)]
#[case(
    PolicyOperation::Modify,
    "c",
    "no profile can lift a deny; narrow or remove `c` at p.yaml:6, and add `c` to `modify` of the profile p"
)]
fn a_refusal_has_its_remedy(#[case] op: PolicyOperation, #[case] path: &str, #[case] remedy: &str) {
    let profile = policy(DENIES).unwrap().profile("p").unwrap();
    let names = WorkspacePath::new(path).unwrap().names;
    assert_eq!(profile.remedy(op, &names, path), remedy);
}

#[test]
fn an_exception_is_remembered_before_the_deny_behind_it() {
    let text = "denyRead: [s/**]\nfsProfiles: {p: {read: ['**', '!s/k/**']}}";
    let profile = policy(text).unwrap().profile("p").unwrap();
    let names = WorkspacePath::new("s/k/f").unwrap().names;
    let told = profile.remedy(PolicyOperation::Read, &names, "s/k/f");
    assert!(told.ends_with("p.yaml:5, and add `s/k/f` to `read` of the profile p"), "{told}");
}

#[rstest]
#[case(GateEventKind::Request, Some(PolicyOperation::Read), "request", "\"read\"")]
#[case(GateEventKind::Result, Some(PolicyOperation::Modify), "result", "\"modify\"")]
#[case(GateEventKind::Denied, Some(PolicyOperation::Read), "denied", "\"read\"")]
#[case(GateEventKind::HarnessDelegated, None, "harness_delegated", "null")]
fn an_event_is_one_line(
    #[case] kind: GateEventKind,
    #[case] op: Option<PolicyOperation>,
    #[case] name: &str,
    #[case] word: &str,
) {
    let mut lines = Vec::new();
    let (profile, path, matched_rule) = ("p".to_owned(), "./a".to_owned(), "**".to_owned());
    let event = GateEvent { kind, profile, op, path, allowed: true, matched_rule };
    EventLines(&mut lines).emit(event).unwrap();
    let line = format!(
        "{{\"allowed\":true,\"kind\":\"{name}\",\"matched_rule\":\"**\",\"op\":{word},\
         \"path\":\"./a\",\"profile\":\"p\"}}\n"
    );
    assert_eq!(String::from_utf8(lines).unwrap(), line);
}
