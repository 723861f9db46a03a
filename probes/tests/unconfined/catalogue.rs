//! The catalogue against its surroundings: names, tests and the README's table.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use boxproof_probes::{ArgSpec, ProbeSpec, catalog, check_args};

fn here(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every line of test code, comments left out.
fn test_code() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unconfined");
    let mut code = String::new();
    for entry in fs::read_dir(directory).expect("the tests' directory") {
        let name = entry.expect("a name").file_name().into_string().expect("a plain name");
        let text = here(&format!("tests/unconfined/{name}"));
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.extend(lines.flat_map(|line| [line, "\n"]));
    }
    code
}

#[test]
fn every_probe_is_exercised() {
    let code = test_code();
    let called = |name: &str| {
        let calls = [format!("probe(\"{name}\")"), format!("], \"{name}\")")];
        calls.iter().any(|call| code.contains(call.as_str()))
    };
    let untested: Vec<_> =
        catalog().iter().map(|spec| spec.name).filter(|name| !called(name)).collect();
    assert_eq!(untested, [""; 0]);
}

#[test]
fn names_are_unique_and_speak_one_way() {
    let names: BTreeSet<_> = catalog().iter().map(|spec| spec.name).collect();
    assert_eq!(names.len(), catalog().len());
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b"-0".contains(&b));
    for spec in catalog() {
        assert!(plain(spec.name), "{}", spec.name);
        assert!(spec.purpose.ends_with('.'), "{}", spec.purpose);
        assert!(spec.exists_here() || !cfg!(target_os = "linux"), "{}", spec.name);
        let args: BTreeSet<_> = spec.args.iter().map(|arg| arg.name).collect();
        assert_eq!(args.len(), spec.args.len(), "{}", spec.name);
        assert!(args.iter().all(|arg| plain(arg)), "{}", spec.name);
    }
}

#[test]
fn what_a_probe_needs_is_what_check_args_asks_for() {
    for spec in catalog() {
        let needs = spec.args.iter().filter(|arg| arg.required);
        let given: Vec<_> =
            needs.map(|arg| (arg.name.to_owned(), vec!["$VARIABLE".to_owned()])).collect();
        assert_eq!(check_args(spec.name, &given), Ok(()), "{}", spec.name);
        for left_out in 0..given.len() {
            let mut fewer = given.clone();
            let (name, _) = fewer.remove(left_out);
            let error = check_args(spec.name, &fewer).expect_err("one is missing");
            assert_eq!(error.to_string(), format!("--{name} is missing"), "{}", spec.name);
        }
    }
}

#[test]
fn the_readme_has_the_table() {
    let readme = here("README.md");
    let table: String = catalog().iter().map(row).collect();
    let expected =
        format!("| probe | family | arguments | what it tries |\n|---|---|---|---|\n{table}\n");
    assert!(readme.contains(&expected), "the table in README.md should be:\n{expected}");
}

fn row(spec: &ProbeSpec) -> String {
    let args: Vec<_> = spec.args.iter().map(ArgSpec::synopsis).map(|text| code(&text)).collect();
    let (name, family) = (code(spec.name), spec.family.name());
    format!("| {name} | {family} | {} | {} |\n", args.join(" "), spec.purpose)
}

/// A bar inside a cell would end it.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}
