//! Lists of the pages beside the program's own: verbs, verdicts, exit codes, areas and the words of a
//! case. A page that lacks an entry is as wrong as one that names an entry too many.

use std::collections::BTreeSet;

use boxproof::cli::Cli;
use boxproof_reports::{ExitCode, Verdict};
use clap::CommandFactory;
use serde_json::Value;

use super::tree::Tree;

const HARNESS: &str = "harness/README.md";
const CASES: &str = "cases/README.md";
const SCHEMA: &str = "cases/schema/case.schema.json";

/// Lists the entries that the pages lack.
pub(crate) fn lists(tree: &Tree) -> Vec<String> {
    let rows = |words: Vec<String>| words.into_iter().map(|word| format!("| `{word}`")).collect();
    let codes = ExitCode::ALL.iter().map(|code| format!("| {} |", code.code())).collect();
    [
        lacks(tree, HARNESS, verbs()),
        lacks(
            tree,
            HARNESS,
            rows(Verdict::ALL.iter().map(|verdict| verdict.keyword().to_owned()).collect()),
        ),
        lacks(tree, HARNESS, codes),
        lacks(tree, CASES, areas(tree)),
        lacks(tree, CASES, words_of_a_case(tree)),
    ]
    .concat()
}

fn lacks(tree: &Tree, page: &str, entries: Vec<String>) -> Vec<String> {
    let text = tree.file(page).map(|file| file.text.as_str()).unwrap_or_default();
    let missing = entries.into_iter().filter(|entry| !text.contains(entry));
    missing.map(|entry| format!("{page}: lacks `{entry}`")).collect()
}

fn verbs() -> Vec<String> {
    let program = Cli::command();
    let shown = program.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| format!("`boxproof {}", verb.get_name())).collect()
}

fn areas(tree: &Tree) -> Vec<String> {
    let files = tree.below("cases/corpus/").filter_map(|file| file.path.split('/').nth(2));
    let areas: BTreeSet<&str> = files.filter(|part| !part.ends_with(".yaml")).collect();
    areas.into_iter().filter(|area| *area != "requirements").map(|a| format!("`{a}`")).collect()
}

/// Lists the keys of a case, of its expectation and of its oracles by the published schema.
fn words_of_a_case(tree: &Tree) -> Vec<String> {
    let Some(schema) = tree.file(SCHEMA) else { return Vec::new() };
    let schema: Value = serde_json::from_str(&schema.text).unwrap();
    let parts = [&schema, &schema["$defs"]["Expect"], &schema["$defs"]["Oracle"]];
    let forms = parts.into_iter().flat_map(|part| {
        part["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .chain([part])
            .filter_map(|form| form["properties"].as_object())
    });
    forms.flat_map(|members| members.keys().map(|key| format!("`{key}"))).collect()
}
