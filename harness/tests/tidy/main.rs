//! The house rules as tests: each rule is a function from the [`Tree`] to complaints. The first
//! table holds them against this repository, the second shows that each of them can complain.
#![expect(clippy::unwrap_used, reason = "a rule that cannot look has failed")]

mod crates;
mod docs;
mod habits;
mod layers;
mod lists;
mod rust;
mod sizes;
mod tree;
mod words;

use rstest::rstest;
use tree::{File, Tree};
use words::CrateFigures;

type Rule = fn(&Tree) -> Vec<String>;

#[rstest]
#[case::members(crates::members)]
#[case::arrows(crates::arrows)]
#[case::publishable(crates::publishable)]
#[case::packed_whole(crates::packed_whole)]
#[case::reference_in_main_only(layers::reference_in_main_only)]
#[case::pure_modules_do_not_touch_the_os(layers::pure_modules)]
#[case::os_list_is_fresh(layers::os_list_is_fresh)]
#[case::unsafe_in_sys_only(layers::unsafe_in_sys)]
#[case::files(sizes::files)]
#[case::functions(sizes::functions)]
#[case::heads(habits::heads)]
#[case::module_files(habits::module_files)]
#[case::no_ignored_tests(habits::no_ignored_tests)]
#[case::function_names(habits::function_names)]
#[case::sleeps_have_a_deadline(habits::sleeps)]
#[case::corpus_names(habits::corpus_names)]
#[case::top_level(habits::top_level)]
#[case::links(docs::links)]
#[case::code_map(docs::code_map)]
#[case::commands(docs::commands)]
#[case::help_examples(docs::help_examples)]
#[case::packages(docs::packages)]
#[case::lists(lists::lists)]
#[case::limits(lists::limits)]
#[case::words(words::ratchets)]
fn the_house_is_tidy(#[case] rule: Rule) {
    let found = rule(&Tree::real());
    assert!(found.is_empty(), "{} complaints:\n{}", found.len(), found.join("\n"));
}

const HEAD: &str = "//! Head.\n";
const SLEEP: &str = "//! H.\nfn f() { std::thread::sleep(x); }";

#[rstest]
#[case(crates::members, "Cargo.toml", "members = [\"cases\", \"more\"]", "members")]
#[case(crates::publishable, "cases/Cargo.toml", "publish = false", "boxproof-cases")]
#[case(
    crates::publishable,
    "Cargo.toml",
    "version = \"2.0.0\"\nboxproof-cases = { path = \"cases\", version = \"1.0.0\" }",
    "boxproof-cases"
)]
#[case(
    crates::packed_whole,
    "reference/src/lib.rs",
    "#[path = \"../receipts/src/fault.rs\"]\nmod fault;",
    "reference/receipts/src/fault.rs"
)]
#[case(crates::arrows, "cases/Cargo.toml", "[dependencies]\nboxproof = 1", "boxproof")]
#[case(crates::arrows, "probes/Cargo.toml", "[dev-dependencies]\nboxproof-cases = 1", "cases")]
#[case(
    crates::arrows,
    "reports/Cargo.toml",
    "[target.x.dependencies]\nx = { package = \"boxproof-probes\" }",
    "probes"
)]
#[case(
    layers::reference_in_main_only,
    "harness/src/run.rs",
    "use boxproof_reference::main;",
    "run.rs"
)]
#[case(layers::pure_modules, "harness/src/judge/new.rs", "use std::fs;", "`std::fs`")]
#[case(layers::pure_modules, "harness/src/new.rs", "fn f(p: &Path) { p.exists(); }", "`.exists()`")]
#[case(layers::pure_modules, "reports/src/html.rs", "fn f() { nix::unistd::getpid(); }", "nix::")]
#[case(layers::os_list_is_fresh, "harness/src/pool.rs", HEAD, "pool.rs")]
#[case(layers::unsafe_in_sys, "probes/src/a.rs", "fn f() { unsafe { g() } }", "a.rs:1")]
#[case(sizes::functions, "cases/src/a.rs", "fn f() {\n\n\n\n\n\n\n\n\n\n\n}", "median is 12")]
#[case(habits::heads, "cases/src/a.rs", "// No head.\n", "a.rs")]
#[case(habits::module_files, "cases/src/a/mod.rs", HEAD, "a/mod.rs")]
#[case(habits::no_ignored_tests, "cases/src/a.rs", "#[ignore = \"slow\"]\nfn f() {}", "a.rs:1")]
#[case(habits::function_names, "cases/src/a.rs", "fn told<T>(a: T) {}", "a.rs:1")]
#[case(habits::sleeps, "cases/src/a.rs", SLEEP, "a.rs:2")]
#[case(habits::corpus_names, "cases/corpus/fs/Read_it.yaml", "", "Read_it")]
#[case(habits::corpus_names, "cases/corpus/fs/read.yml", "", "read.yml")]
#[case(habits::top_level, "NOTES.txt", "", "NOTES.txt")]
#[case(docs::links, "a/B.md", "[x](c.md)", "a/c.md")]
#[case(docs::links, "B.md", "# A `b`\n[x](#a-c)", "#a-c")]
#[case(docs::code_map, "a/README.md", "\n## Code map\n\n| `gone` | x |\n", "gone")]
#[case(docs::commands, "B.md", "```sh\ncargo run --release -- runn\n```", "runn")]
#[case(docs::commands, "B.md", "Type `boxproof run --no-such-flag x`.", "no-such-flag")]
#[case(docs::commands, "B.md", "```\n$ boxproof list --backend 'it\n```", "quote")]
#[case(docs::packages, "B.md", "`cargo test -p boxprof`", "boxprof")]
#[case(lists::lists, "harness/README.md", "| 0 |", "| 5 |")]
#[case(lists::lists, "harness/README.md", "", "`boxproof run")]
#[case(lists::limits, "reference/docs/limits.md", "# L\n\n- One.\n", "names no case")]
#[case(lists::limits, "reference/docs/limits.md", "\n- One.\n  Shown by `a/b`.\n", "a/b, which")]
#[case(words::ratchets, "cases/src/a.rs", "/// What it is.\nstruct A;", "question")]
#[case(words::ratchets, "cases/src/a.rs", "struct A;", "one-word")]
fn every_rule_can_complain(
    #[case] rule: Rule,
    #[case] path: &str,
    #[case] text: &str,
    #[case] about: &str,
) {
    let found = rule(&Tree::single_file(path, text));
    assert!(found.iter().any(|line| line.contains(about)), "nothing about {about}: {found:?}");
}

#[test]
fn ceilings_hold_for_one_file_and_one_function() {
    let long = Tree::single_file("cases/src/a.rs", &format!("//! H.\n{}", "x;\n".repeat(500)));
    assert_eq!(sizes::files(&long).len(), 2, "ceiling and median");
    let tests = format!("//! H.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "x;\n".repeat(500));
    assert_eq!(sizes::files(&Tree::single_file("cases/src/a.rs", &tests)), Vec::<String>::new());
    let function = format!("//! H.\nfn f() {{\n{}}}\n", "x;\n".repeat(59));
    assert_eq!(sizes::functions(&Tree::single_file("cases/src/a.rs", &function)).len(), 2);
}

/// Prints the figures: `cargo test -p boxproof --test tidy figures -- --nocapture`.
#[test]
fn figures_are_counted_for_every_crate() {
    let tree = Tree::real();
    for name in ["cases", "probes", "reports", "reference", "reference/receipts", "harness"] {
        println!("{}", CrateFigures::count(&tree, name));
    }
}

#[test]
fn the_tree_is_this_repository() {
    let tree = Tree::real();
    assert!(tree.rust().count() > 100 && tree.file("harness/tests/tidy/main.rs").is_some());
    assert!(tree.below("cases/corpus/").count() > 50);
    assert!(docs::all_commands(&tree).len() > 5);
    assert!(tree.rust().any(File::is_test) && tree.rust().any(|file| !file.is_test()));
}
