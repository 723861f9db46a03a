//! Goldens: the compiled texts, letter for letter, and the expressions of patterns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Document, Policy, WirePath};
use rstest::rstest;

use super::*;
use crate::plan::{AbsenceReason, AbsentName, ForbiddenNames, FuturePattern, ViewStep};
use crate::policy::path_glob::PathGlob;

fn view() -> View {
    let path = PathBuf::from;
    let steps = vec![
        ViewStep::BindReadOnly(path("/")),
        ViewStep::Dev,
        ViewStep::Proc,
        ViewStep::Tmpfs(path("/tmp"), 0o1777),
        ViewStep::Bind(path("/w")),
        ViewStep::BindReadOnly(path("/w/ro \"x\\")),
        ViewStep::MaskFile(path("/w/key")),
        ViewStep::MaskDirectory(path("/w/secret")),
        ViewStep::Seal(path("/dev")),
    ];
    View { steps, mediate: ForbiddenNames::default(), host_network: false, egress: None }
}

fn sbpl(compiled: Compiled) -> String {
    match compiled.text {
        CompiledText::Sbpl(text) => text,
        CompiledText::Argv(words) => panic!("{words:?}"),
    }
}

#[test]
fn seatbelt_of_a_neutral_policy() {
    let mut view = view();
    let glob = PathGlob::parse("/w/**/*.env").unwrap();
    view.mediate.globs.push(FuturePattern { glob, folds: true, hides: true });
    let names =
        [("/w/d/.git", AbsenceReason::Protect, false), ("/w/Later", AbsenceReason::Hide, true)];
    let absent = names.map(|(path, by, folds)| AbsentName { path: path.into(), by, folds });
    view.mediate.names.extend(absent);
    let mut policy = Policy::new("/w");
    policy.unix_sockets = vec![WirePath::from("/s")];
    let compiled = profile(&view, &policy, &ExtraOpenings::default()).unwrap();
    assert_eq!(compiled.params, ["TMP"]);
    insta::assert_snapshot!("seatbelt_of_a_neutral_policy", sbpl(compiled));
}

#[test]
fn seatbelt_of_documents() {
    let text = "schemaVersion: 2\nkind: Policy\nmetadata: {name: default}\nspec: {denyRead: [k], \
        denyModify: ['d/**', '!d/ok', '**/*.env'], fsProfiles: {p: {read: ['**', '!a?/**'], \
        modify: ['*.md', 'src/**', '!src/gen/**']}}}\n";
    let document = Document { name: "h".to_owned(), text: text.to_owned() };
    let profile = crate::request::orbit::resolve_profile(&[document], "p").unwrap();
    let env = BTreeMap::from([
        ("HOME".to_owned(), "/h".to_owned()),
        ("CODEX_HOME".to_owned(), "/c".to_owned()),
    ]);
    let compiled = orbit::profile(&profile, Path::new("/w"), &env, &["/w/.orbit".into()]).unwrap();
    assert_eq!(compiled.limits.len(), 3);
    insta::assert_snapshot!("seatbelt_of_documents", sbpl(compiled));
}

#[rstest]
#[case::name("/w/*.env", false, "^/w/[^/]*\\.env(/.*)?$")]
#[case::directories("/w/**/k", false, "^/w(/[^/]+)*/k(/.*)?$")]
#[case::content("/w/a/**", false, "^/w/a/.*$")]
#[case::letters("/w/*.e", true, "^/[wW]/[^/]*\\.[eE](/.*)?$")]
#[case::class("/w/[a-c]", false, "^/w/(a|b|c)(/.*)?$")]
#[case::bracket("/w/[]]", false, "^/w/(\\])(/.*)?$")]
#[case::choice("/w/{a,b?}", false, "^/w/(a|b[^/])(/.*)?$")]
#[case::escape("/w/x\\*", false, "^/w/x\\*(/.*)?$")]
fn patterns_become_expressions(#[case] glob: &str, #[case] folds: bool, #[case] due: &str) {
    let glob = PathGlob::parse(glob).unwrap();
    assert_eq!(pattern::of_glob(&glob, folds).unwrap(), due);
}

#[rstest]
#[case("/w/[!a]", "excludes")]
#[case("/w/[à-é]", "not ASCII")]
fn what_has_no_expression_is_refused(#[case] glob: &str, #[case] why: &str) {
    let refusal = pattern::of_glob(&PathGlob::parse(glob).unwrap(), false).unwrap_err();
    assert!(refusal.message.contains(why) && refusal.message.contains(glob), "{refusal}");
}

#[rstest]
#[case("*.md", "^/w/[^/]*\\.md$")]
#[case("**/s/**", "^/w(/[^/]+)*/s(/.*)?$")]
#[case("a?b", "^/w/a[^/]b$")]
#[case("[x]/?", "^/w/\\[x\\]/[^/]$")]
#[case("a**b", "^/w/a.*b$")]
fn rules_become_expressions(#[case] rule: &str, #[case] due: &str) {
    assert_eq!(pattern::of_orbit("/w", rule), due);
}
