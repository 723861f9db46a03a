//! Lists of the pages beside the program's own: verbs, verdicts, exit codes, areas, the words of a case,
//! and cases that limits name. A page that lacks an entry is as wrong as one that names an entry too many.

use std::collections::BTreeSet;

use boxproof::cli::Cli;
use boxproof_reports::{ExitCode, Verdict};
use clap::CommandFactory;
use serde_json::Value;

use super::tree::Tree;

const HARNESS: &str = "harness/README.md";
const CASES: &str = "cases/README.md";
const LIMITS: &str = "reference/docs/limits.md";
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

/// Lists the limits of the reference that name no case, and the cases that they name and that do not exist.
pub(crate) fn limits(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.file(LIMITS) else { return Vec::new() };
    let list = page.text.split("\n## ").next().unwrap_or_default();
    let faults = list.split("\n- ").skip(1).flat_map(|limit| {
        let title: String = limit.chars().take(50).collect();
        let Some((_, named)) = limit.rsplit_once("Shown by ") else {
            return vec![format!("{LIMITS}: `{title}` names no case")];
        };
        let ids = named.split('`').skip(1).step_by(2).filter(|id| !has_case(tree, id));
        ids.map(|id| format!("{LIMITS}: `{title}` names {id}, which is no case")).collect()
    });
    faults.collect()
}

/// Returns whether the corpus has a case `id`: a file, or a row of one.
fn has_case(tree: &Tree, id: &str) -> bool {
    let file = |id: &str| tree.file(&format!("cases/corpus/{id}.yaml"));
    let row = |(id, row): (&str, &str)| {
        let start = format!("\n  {row}:");
        file(id).is_some_and(|file| file.text.contains(&start))
    };
    file(id).is_some() || id.rsplit_once('/').is_some_and(row)
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
