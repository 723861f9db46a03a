//! `boxproof repro --arm`: the arms besides the confined one.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use rstest::rstest;

use crate::repro::{export, manifest, sh};
use crate::support::{BOXPROOF, DENIED, Place, has};

#[rstest]
#[case("twin", 1, "the act works in this arm")]
#[case("control", 1, "the act works in this arm")]
fn arms_besides_the_confined_one_show_that_the_act_works(
    #[case] arm: &str,
    #[case] code: i32,
    #[case] says: &str,
) {
    let place = Place::with(&[("fs/one", DENIED)]);
    let cases = place.arg("corpus");
    let script = export(&place, &["fs/one", "--arm", arm, "--cases", &cases]);
    has(&sh(&script, &[]).exits(code).stdout, says);
}

#[rstest]
#[case::names_taken_back(
    "policy: {protect: metadata}\ntwin: {protect: none}\n",
    2,
    "it takes no name out"
)]
#[case::a_grant_more("policy: {protect: none}\ntwin: {writable: [$OUT]}\n", 0, "")]
fn a_recipe_can_say_that_it_takes_no_protection_back(
    #[case] policies: &str,
    #[case] code: i32,
    #[case] says: &str,
) {
    let case = format!(
        "purpose: A protected name is not made.\nrequirement: R-test\nact: {{probe: mkdir, path: .vscode}}\n\
         expect:\n  denied: {{errno: [EROFS]}}\n  oracle: [{{absent: .vscode}}]\n{policies}"
    );
    let place = Place::with(&[("fs/one", case.as_str())]);
    let rule = "inexpressible: [{when: unprotects, reason: it takes no name out}]\n";
    place.write("box.yaml", &(manifest("exec \"$@\"") + rule));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let args = ["fs/one", "--backend", &spec, "--cases", &cases, "--arm", "twin"];
    let scratch = place.arg("scratch");
    let ran = place.run(&[&["repro", "--scratch", &scratch][..], &args].concat());
    has(&ran.exits(code).stderr, says);
}

#[test]
fn a_twin_that_is_refused_shows() {
    let place = Place::with(&[("fs/one", DENIED)]);
    // Every writable root is taken out of the request on its way.
    let line = r#"sed -i 's#"writable":\[[^]]*\]#"writable":[]#' "$3" 2>/dev/null"#;
    place.write("deaf.sh", &format!("{line}\nexec {BOXPROOF} reference \"$@\"\n"));
    let deaf = "name: box\nsummary: The reference, deaf to grants.\nkind: native\nprogram: sh\n\
                run_as: any\n";
    place.write("box.yaml", &format!("{deaf}prefix: [{}]\n", place.arg("deaf.sh")));
    let (cases, spec) = (place.arg("corpus"), place.arg("box.yaml"));
    let args = ["fs/one", "--backend", &spec, "--cases", &cases, "--arm", "twin"];
    let script = export(&place, &args);
    has(
        &sh(&script, &[]).exits(0).stdout,
        "the act does not work in this arm: the act was refused",
    );
}
