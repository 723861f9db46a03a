//! Habits: module heads, tests that run, waits that end, and the places of files.

use super::rust;
use super::tree::Tree;

/// Checks that every Rust file states its purpose.
pub(crate) fn heads(tree: &Tree) -> Vec<String> {
    let bare = tree.rust().filter(|file| !file.text.starts_with("//! "));
    bare.map(|file| format!("{}: begin with a `//!` line that says its purpose", file.path))
        .collect()
}

/// Checks that a module with children is `name.rs` beside `name/`: one way, and no two tabs of a name.
pub(crate) fn module_files(tree: &Tree) -> Vec<String> {
    let old = tree.rust().filter(|f| f.path.contains("/src/") && f.path.ends_with("/mod.rs"));
    old.map(|file| format!("{}: name it like its directory, beside it", file.path)).collect()
}

/// Checks that no test is switched off: one that cannot run is an error of the house.
pub(crate) fn no_ignored_tests(tree: &Tree) -> Vec<String> {
    tree.rust().flat_map(|file| file.places(|line| line.contains("#[ignore"))).collect()
}

/// Function names that do not tell what is returned.
const BARE_NAMES: [&str; 6] = ["of", "told", "word", "words", "look", "seen"];

/// Checks that no function is named by one of [`BARE_NAMES`] alone.
pub(crate) fn function_names(tree: &Tree) -> Vec<String> {
    let is_bare = |line: &str| {
        let name = line.split_once("fn ").map_or("", |(_, rest)| rest);
        let end = name.find(['(', '<']).unwrap_or_default();
        BARE_NAMES.contains(&&name[..end])
    };
    tree.rust().flat_map(|file| file.places(is_bare)).collect()
}

/// A sleep is one step of a poll that has a deadline; nothing else may wait for the clock.
pub(crate) fn sleeps(tree: &Tree) -> Vec<String> {
    let sleeps = |code: &str| rust::mentions(code, "sleep(");
    let mut found = Vec::new();
    for file in tree.rust() {
        let code = file.code();
        let functions = rust::functions(&code).into_iter().map(|function| function.text);
        let polls = functions.filter(|text| text.to_lowercase().contains("deadline"));
        if sleeps(&code) > polls.map(sleeps).sum() {
            found.extend(file.places(|line| sleeps(line) > 0));
        }
    }
    found
}

/// Checks that corpus files and directories have names in kebab case, as ids are made of them.
pub(crate) fn corpus_names(tree: &Tree) -> Vec<String> {
    let kebab = |part: &str| {
        let word = |w: &str| {
            !w.is_empty() && w.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        part.split('-').all(word)
    };
    let files = tree.below("cases/corpus/").filter(|file| {
        let id = file.path.trim_start_matches("cases/corpus/").strip_suffix(".yaml");
        !id.is_some_and(|id| id.split('/').all(kebab))
    });
    files.map(|file| format!("{}: name it like `some-behaviour.yaml`", file.path)).collect()
}

/// The entries of the root besides dot files.
const ROOT: [&str; 13] = [
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "cases",
    "clippy.toml",
    "harness",
    "probes",
    "reference",
    "reports",
    "rustfmt.toml",
];

/// The root stays bare. Run records are a developer's own; git ignores them.
pub(crate) fn top_level(tree: &Tree) -> Vec<String> {
    let names = tree.files.iter().filter_map(|file| file.path.split('/').next());
    let stray = names.filter(|name| {
        !name.starts_with('.') && !name.ends_with(".ndjson") && !ROOT.contains(name)
    });
    let mut found: Vec<String> =
        stray.map(|name| format!("{name} does not belong into the root")).collect();
    found.dedup();
    found
}
