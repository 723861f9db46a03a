//! `boxproof coverage`: what has a case, and what a missing case leaves bare.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use crate::support::{DENIED, Place, WORKS, has};

#[test]
fn a_case_that_is_deleted_is_told_by_the_requirement_that_it_leaves_bare() {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    let gate = place.boxproof("coverage", &["--gate"]);
    assert_eq!(
        gate.exits(0).stdout,
        "2 cases; 2 of 2 requirements have the cases that they ask for; 0 without a case\n"
    );
    std::fs::remove_file(place.path("corpus/fs/denied.yaml")).unwrap();
    let bare = "R-test-not lacks a case where it is not: It does not work.";
    let gate = place.boxproof("coverage", &["--gate"]);
    assert_eq!(gate.exits(1).stdout.lines().next(), Some(bare));
    let text = place.boxproof("coverage", &[]);
    has(&text.exits(0).stdout, "requirement  asks for     allowed on Linux  not allowed on Linux");
    has(&text.stdout, bare);
    let markdown = place.boxproof("coverage", &["--format", "markdown"]);
    has(&markdown.exits(0).stdout, "| R-test-not | not allowed | 0 | 0 | 0 | 0 | a case where");
    has(&markdown.stdout, "## Without a case\n\n- R-test-not lacks");
    let html = place.boxproof("coverage", &["--format", "html"]);
    has(&html.exits(0).stdout, "<tr><th scope=\"row\">R-test</th><td>allowed</td><td>1</td>");
    std::fs::remove_file(place.path("corpus/exec/works.yaml")).unwrap();
    place.boxproof("coverage", &["--gate"]).exits(4);
}

/// Copies the files below `from` to `to`, without the one called `without`.
fn copy(from: &Path, to: &Path, without: &str) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target, without),
            false if entry.path().ends_with(without) => {}
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn the_corpus_is_covered_and_each_case_that_is_alone_in_it_is_missed() {
    let place = Place::new();
    place.run(&["coverage", "--gate"]).exits(0);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/corpus");
    copy(&corpus, &place.path("copy"), "env/removed.yaml");
    let gate = place.run(&["coverage", "--gate", "--cases", &place.arg("copy")]);
    has(&gate.exits(1).stdout, "R-env-remove lacks a case where it is not: ");
}
