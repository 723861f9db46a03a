//! The page of the backend protocol: its program is a backend, its lists are those of the types.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use boxproof_cases::protocol::PROTECTED_NAMES;

use crate::support::{Place, Ran, as_we_are, has};

const PAGE: &str = include_str!("../../../cases/PROTOCOL.md");

/// Returns the text of the page between two marks.
fn between(start: &str, end: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(start).unwrap();
    rest.split_once(end).unwrap().0
}

/// Runs the page's program, with `edit` made in it, on the cases that the page names.
fn judged(edit: fn(String) -> String) -> Ran {
    let place = Place::new();
    let text = edit(between("```python\n", "```\n").to_owned());
    let program = place.program("box.py", &text);
    let selected = between("--backend ./box.py ", "`");
    let (program, scratch) = (program.to_str().unwrap(), place.arg("scratch"));
    let mut args = vec!["run", "--backend", program, "--scratch", &scratch];
    args.extend(as_we_are());
    args.extend(selected.split(' ').map(|filter| filter.trim_matches('\'')));
    place.run(&args)
}

#[test]
fn the_program_of_the_page_passes_the_cases_that_the_page_names() {
    let ran = judged(|text| text);
    has(ran.exits(0).last_line(), " pass");
}

#[test]
fn the_program_of_the_page_fails_where_its_sandbox_is_taken_out() {
    let ran = judged(|text| text.replace("[*box, \"--\", *command]", "command"));
    has(ran.exits(1).last_line(), "under-block");
}

#[test]
fn the_program_of_the_page_has_forty_lines() {
    assert!(between("```python\n", "```\n").lines().count() <= 40);
}

#[test]
fn the_page_lists_the_protected_names() {
    let listed = between("<!-- protected -->\n", "<!-- /protected -->");
    let listed: Vec<&str> = listed.split_whitespace().map(|name| name.trim_matches('`')).collect();
    assert_eq!(listed, PROTECTED_NAMES);
}
