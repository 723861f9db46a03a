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
    let case = CASE.replace("Works.", "\"Works ${what} ${too}.\"");
    let written = |with: &str| format!("{case}rows:\n  one: {{with: {with}}}\n");
    let cut = written("{what: a, too}");
    let errors = load(&cut).unwrap_err();
    let says = "with.too has no value; a text with a comma needs quotes, and an empty one is ''";
    assert_eq!((errors.len(), errors[0].line), (1, 8), "{errors:?}");
    assert!(errors[0].to_string().contains(says), "{}", errors[0]);
    assert!(load(&written("{what: a, too: ''}")).is_ok());
    assert!(load(&written("{what: \"a, b\", too: c}")).is_ok());
    let kept = BTreeMap::from([(PathBuf::from("fs/case.yaml"), cut)]);
    assert_eq!(Suite::recorded_cases(&kept).unwrap()[0].id.as_str(), "fs/case/one");
}

fn recorded(text: &str) -> Result<Vec<Case>, Vec<LoadError>> {
    Suite::recorded_cases(&BTreeMap::from([(PathBuf::from("fs/case.yaml"), text.to_owned())]))
}

#[rstest]
#[case::policy("{path: f}", "policy: {writable: [\"${z}\"]}", (8, "policy.writable[0]"), "`${z}` has no value")]
#[case::fixture("{path: f}", "fixture: {\"a-${z}\": y}", (8, "fixture"), "`${z}` has no value")]
#[case::content("{path: f}", "fixture: {a: \"${z}\"}", (8, "fixture.a.file"), "`${z}` has no value")]
#[case::prepare("{path: f}", "prepare: mkdir ${z}", (8, "prepare"), "a variable of the shell is `$z`")]
#[case::stdin("{path: f}", "stdin: ${z}", (8, "stdin"), "`${z}` has no value")]
#[case::launcher("{path: f}", "launcher: {env: {A: \"${z}\"}}", (8, "launcher.env.A"), "`${z}` has no value")]
#[case::near("{writeable: f}", "prepare: mkdir ${writable}", (8, "prepare"), "did you mean `${writeable}`?")]
fn a_parameter_that_nothing_defines_is_an_error_of_an_author_alone(
    #[case] with: &str,
    #[case] line: &str,
    #[case] place: (usize, &str),
    #[case] message: &str,
) {
    let name = with.trim_start_matches('{').split(':').next().unwrap();
    let text = format!("{CASE}rows:\n  a: {{with: {with}, purpose: \"On ${{{name}}}.\"}}\n");
    let text = text.replace("rows:", &format!("{line}\nrows:")).replace("fixture: {f: x}\n", "#\n");
    let text = text.replace("twin: {mode: workspace_write}\n", "twin: {none: a test}\n#\n");
    let errors = load(&text).unwrap_err();
    assert!(errors[0].to_string().contains(message), "{errors:?}");
    assert_eq!((errors[0].line, errors[0].field.as_str()), place, "{errors:?}");
    assert!(errors[0].column > 0 && errors.len() == 1, "{errors:?}");
    assert!(recorded(&text).is_ok());
}

#[test]
fn a_row_that_lacks_a_parameter_of_another_is_named() {
    let text = CASE.replace("path: f", "path: \"${path}\"");
    let errors = load(&format!("{text}rows: {{a: {{with: {{path: f}}}}, b: {{}}}}\n")).unwrap_err();
    let says = "act.path: `${path}` has no value in row b: add path to its `with`";
    assert_eq!(errors[0].to_string(), format!("fs/case.yaml:4:28: {says}"));
    let errors = load(&text).unwrap_err();
    assert!(errors[0].to_string().contains("the case has no rows"), "{errors:?}");
}

#[rstest]
#[case("for v in 1 2; do echo ${v}; done")]
#[case("v=1; echo ${v}")]
#[case("echo ${v:?} ${#x} ${PIPESTATUS[0]} ${PATH} $v ${1} ${!a}")]
#[case("node -e 'const v = 1; console.log(`${v}`)'")]
fn a_shell_keeps_its_own_variables(#[case] line: &str) {
    let act = serde_json::to_string(line).unwrap();
    let text = CASE.replace("{probe: write, path: f, text: y}", &format!("{{sh: {act}}}"));
    let text = format!("{text}fixture: {{f: {act}}}\nprepare: {act}\n").replacen("fixture", "#", 1);
    assert!(load(&text).is_ok(), "{:?}", load(&text));
}

#[test]
fn a_parameter_that_nothing_uses_is_an_error() {
    let text =
        format!("{CASE}rows:\n  a: {{with: {{what: x}}}}\n  b: {{purpose: 'Is ${{wat}}.'}}\n");
    let errors = load(&text).unwrap_err();
    let said = errors.iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("fs/case.yaml:8:14: rows.a.with.what: nothing uses `what`"), "{said}");
    assert!(said.contains("did you mean `${what}`?"), "{said}");
    let override_alone = format!(
        "{}rows:\n  a: {{with: {{what: x}}, purpose: Other.}}\n  b: {{with: {{what: y}}}}\n",
        CASE.replace("Works.", "\"Works ${what}.\"")
    );
    assert!(load(&override_alone).is_ok());
}

#[rstest]
#[case("[EROFS]", "[EROF]", 5, "expect.denied.errno: no errno `EROF`: did you mean `EROFS`?")]
#[case("[EROFS]", "['30']", 5, "no errno `30`: use its name, such as EROFS")]
#[case("{errno: [EROFS]}", "{signal: [BANANA]}", 5, "expect.denied.signal: no signal `BANANA`")]
#[case("{errno: [EROFS]}", "{signal: [SIGSYS]}", 5, "did you mean `SYS`?")]
#[case("denied: {errno: [EROFS]}", "contained: {errno: [EPRM]}", 5, "did you mean `EPERM`?")]
#[case("expect: {", "expect: {exit: {signal: KIL}, ", 5, "expect.exit.signal: no signal `KIL`")]
#[case("expect: {", "expect: {result: {signal: KIL}, ", 5, "expect.result.signal: no signal")]
#[case(
    "expect: {",
    "expect: {result: {events: {given: [{errno: [EPREM]}]}}, ",
    5,
    "expect.result.events.given: no errno `EPREM`: did you mean `EPERM`?"
)]
#[case(
    "expect: {",
    "expect: {result: {events: {at_least: 2, at_most: 1}}, ",
    5,
    "expect.result.events.at_most: at least 2 and at most 1 is no number of events"
)]
#[case("fixture", "launcher: {inherit: {2: {path: f}}}\nfixture", 3, "`2` is not 3 to 1048575")]
#[case(
    "fixture",
    "launcher: {inherit: {4294967295: {path: f}}}\nfixture",
    3,
    "`4294967295` is not 3 to 1048575"
)]
#[case("fixture", "timeout_ms: 0\nfixture", 3, "timeout_ms: an arm needs at least 1 ms")]
#[case("fixture", "platforms: []\nfixture", 3, "platforms: on none, the case never runs")]
#[case("fixture", "launcher: {env: {'': x}}\nfixture", 3, "a variable without a name")]
#[case("fixture", "launcher: {env: {'A=B': x}}\nfixture", 3, "`A=B` is no name of a variable")]
#[case("fixture", "sources: [CVE-1]\nfixture", 3, "sources: `CVE-1` is no public report")]
#[case("fixture", "sources: [none]\nfixture", 3, "sources: `none` is no public report")]
#[case("fixture", "needs: [fs.write, fs.write]\nfixture", 3, "needs: `fs.write` is named twice")]
#[case("{f: x}", "{f: x, f/g: y}", 3, "fixture: `f/g` lies below `f`, which is no directory")]
#[case("text: y", "text: \"a\\0b\"", 4, "act: a NUL byte in \"a\\0b\"")]
#[case("twin: {mode: workspace_write}", "twin: {none: a test}\nrows: {}", 7, "rows: no row")]
fn what_can_never_hold_is_an_error_of_an_author_alone(
    #[case] from: &str,
    #[case] to: &str,
    #[case] line: usize,
    #[case] message: &str,
) {
    let text = CASE.replacen(from, to, 1);
    let errors = load(&text).unwrap_err();
    assert!(errors[0].to_string().contains(message), "{errors:?}");
    assert_eq!((errors[0].line, errors.len()), (line, 1), "{errors:?}");
    assert!(errors[0].column > 0, "{errors:?}");
    assert!(recorded(&text).is_ok(), "{:?}", recorded(&text));
}

#[test]
fn directories_without_a_case_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let lack = |suite: Suite| suite.lack_of_cases().unwrap();
    let at = directory.path();
    let empty = format!("no case in {}: no file below it is called *.yaml", at.display());
    assert_eq!(lack(Suite::load(at).unwrap()), empty);
    std::fs::write(at.join("a.yml"), CASE).unwrap();
    std::fs::write(at.join("notes.md"), CASE).unwrap();
    std::os::unix::fs::symlink("a.yml", at.join("b.yaml")).unwrap();
    std::os::unix::net::UnixListener::bind(at.join("c.yaml")).unwrap();
    std::os::unix::fs::symlink("/", at.join("d")).unwrap();
    let kinds = [
        ("a.yml", "its extension is not .yaml"),
        ("b.yaml", "a symbolic link"),
        ("c.yaml", "no regular file"),
        ("d", "a symbolic link"),
    ];
    let skipped = kinds.map(|(name, why)| format!("{} ({why})", at.join(name).display()));
    let says = format!("a case is a regular file *.yaml, not {}", skipped.join(", "));
    assert_eq!(lack(Suite::load(at).unwrap()), format!("no case in {}: {says}", at.display()));
    assert_eq!(load(CASE).unwrap().lack_of_cases(), None);
}
