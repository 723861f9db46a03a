//! Tests of loading a corpus.

use super::*;
use rstest::rstest;

const CASE: &str = "purpose: Works.
requirement: R-x
fixture: {f: x}
act: {probe: write, path: f, text: y}
expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}
twin: {mode: workspace_write}
";

fn load(text: &str) -> Result<Suite, Vec<LoadError>> {
    let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
    Suite::from_files(
        "test",
        BTreeMap::from([(PathBuf::from("fs/case.yaml"), text.to_owned())]),
        &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
    )
}

#[test]
fn the_embedded_corpus_loads() {
    let errors = Suite::embedded().err().unwrap_or_default();
    assert!(errors.is_empty(), "{}", errors.iter().map(|e| format!("{e}\n")).collect::<String>());
}

#[rstest]
#[case("", &[])]
#[case("needs: [fs.write, net.none]\n", &["net.none"])]
#[case("needs: [fs.write, net.none]\nabout: [fs.write]\n", &["fs.write"])]
#[case("needs: [fs.write, net.none]\nabout: [fs.write, net.none]\n", &["fs.write", "net.none"])]
#[case("needs: [fs.write, net.none]\nabout: []\n", &[])]
fn a_case_knows_what_it_is_about(#[case] keys: &str, #[case] subjects: &[&str]) {
    let suite = load(&CASE.replace("fixture:", &format!("{keys}fixture:"))).unwrap();
    let found: Vec<&str> = suite.cases[0].subjects().iter().map(crate::Capability::name).collect();
    assert_eq!(found, subjects);
}

#[test]
fn a_case_knows_its_id_and_area() {
    let suite = load(CASE).unwrap();
    assert_eq!(suite.cases[0].id.as_str(), "fs/case");
    assert_eq!(suite.cases[0].area(), "fs");
}

#[rstest]
#[case("fixture: {f: x}", "about: [fs.write]\nfixture: {f: x}", 3, "fs.write is not in `needs`")]
#[case("fixture: {f: x}", "about: [fs.wrote]\nfixture: {f: x}", 3, "unknown capability `fs.wrote`")]
#[case("fixture: {f: x}", "about: fs.write\nfixture: {f: x}", 3, "about")]
#[case(
    "fixture: {f: x}",
    "needs: [fs.write]\nabout: [fs.write, fs.write]\nfixture: {f: x}",
    4,
    "fs.write is named twice"
)]
#[case("R-x", "R-y", 2, "unknown requirement R-y")]
#[case("text: y", "text: $NOPE", 4, "unknown variable $NOPE")]
#[case("twin: {mode: workspace_write}", "", 5, "has no twin")]
#[case("twin: {mode: workspace_write}", "twin: {none: ' '}", 6, "needs its reason")]
#[case("{unchanged: f}", "{unreached: f}", 5, "name one of $TCP4")]
#[case("{unchanged: f}", "{untouched: '7'}", 5, "name one of $VICTIM")]
#[case("act: {", "steps: []\nsuffix: {", 5, "unknown field `suffix`")]
#[case("act: {probe: write, path: f, text: y}", "", 1, "either one act or")]
#[case("fixture: {f: x}", "fixture: {f: x}\nrepeat: 0", 4, "count from 1")]
#[case("fixture: {f: x}", "fixture: {f: x}\nrepeat: 4294967295", 4, "more than 1000")]
#[case("fixture: {f: x}", "fixture: {f: x}\nparallel: 101", 4, "more than 100")]
#[case("fixture: {f: x}", "fixture: {f: x}\ntimeout_ms: 18446744073709551615", 4, "an hour")]
#[case("fixture: {f: x}", "fixture: {f: x}\nwaits_ms: 3600001", 4, "an hour")]
#[case("{f: x}", "{../../f: x}", 3, "../../f lies outside")]
#[case("{f: x}", "{f: x, $OUT/../f: x}", 3, "$OUT/../f lies outside")]
#[case("{f: x}", "{f: x, /etc/f: x}", 3, "/etc/f lies outside")]
#[case("{f: x}", "{f: x, $PROBE: x}", 3, "$PROBE lies outside")]
#[case("{f: x}", "{f: {hardlink: /etc/passwd}}", 3, "/etc/passwd lies outside")]
#[case("{f: x}", "{f: x, l: {link: /etc}, $WS/l/g: x}", 3, "$WS/l/g lies below the link")]
#[case("{f: x}", "{f: x, l: {link: /etc}, h: {hardlink: l/g}}", 3, "l/g lies below the link")]
#[case("{f: x}", "{f: x, l: {link: /etc/x}, $WS/./l: x}", 3, "the same place")]
#[case("{denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}", "{allowed: {}}", 6, "no twin")]
#[case("{f: x}", "{f: {file: x, mode: '4755'}}", 3, "add root to host")]
#[case("{f: x}", "{/bin/f: {file: x, mode: '4755'}}\nhost: [root]", 3, "lies below $WS")]
#[case("{f: x}", "{$WS/../f: {file: x, mode: '2755'}}\nhost: [root]", 3, "lies below $WS")]
fn faults_are_located(
    #[case] from: &str,
    #[case] to: &str,
    #[case] line: usize,
    #[case] message: &str,
) {
    let errors = load(&CASE.replace(from, to)).unwrap_err();
    assert!(errors[0].to_string().contains(message), "{}", errors[0]);
    assert_eq!(errors[0].line, line, "{}", errors[0]);
}

/// What an author writes is refused; what a record keeps from before the rule is judged as it was.
#[test]
fn a_parameter_without_a_value_is_an_error_of_an_author_alone() {
    let written = |with: &str| format!("{CASE}rows:\n  one: {{with: {with}}}\n");
    let cut = written("{what: a, too}");
    let errors = load(&cut).unwrap_err();
    let says = "with.too has no value; a text with a comma needs quotes, and an empty one is ''";
    assert_eq!((errors.len(), errors[0].line), (1, 8), "{errors:?}");
    assert!(errors[0].to_string().contains(says), "{}", errors[0]);
    assert!(load(&written("{what: a, too: ''}")).is_ok());
    assert!(load(&written("{what: \"a, too\"}")).is_ok());
    let kept = BTreeMap::from([(PathBuf::from("fs/case.yaml"), cut)]);
    assert_eq!(Suite::recorded_cases(&kept).unwrap()[0].id.as_str(), "fs/case/one");
}
