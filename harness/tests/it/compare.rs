//! `boxproof compare`: records beside a table made by hand, and the meaning of its exit codes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::support::{DENIED, Place, WORKS, has};
use rstest::rstest;

const TABLE: &str = "about: A table.
columns:
  none: {version: '', users: [root, ordinary]}
words:
  ok: {meets: true, verdicts: [pass]}
  leak: {meets: false, verdicts: [under-block]}
probes:
  a01: {asks: Does it run?, cases: [exec/works], seen: [{word: ok, by: [none]}]}
  b01: {asks: Is it kept?, cases: [fs/denied], seen: [{word: leak, by: [none]}]}
";

/// A place with a table and a record of `filter` against no sandbox at all.
fn measured(table: &str, filter: &str) -> Place {
    let place = Place::with(&[("exec/works", WORKS), ("fs/denied", DENIED)]);
    place.write("table.yaml", table);
    let record = place.arg("record.ndjson");
    place.boxproof("run", &["--backend", "none", "--report", &record, filter]);
    place
}

fn compare(place: &Place, more: &[&str]) -> crate::support::Ran {
    let (record, table) = (place.arg("record.ndjson"), place.arg("table.yaml"));
    let args = [&["compare", &record, "--with", &table], more].concat();
    place.run(&args)
}

#[test]
fn what_agrees_is_0_and_counted() {
    let place = measured(TABLE, "**");
    let ran = compare(&place, &[]);
    assert_eq!(ran.exits(0).last_line(), "2 compared: 2 agree");
    has(&ran.stdout, "  a01  agree       ok / pass: Does it run?\n");
    has(&ran.stdout, "  b01  agree       leak! / under-block (oracle): Is it kept?\n");
    let page = compare(&place, &["--format", "markdown"]);
    has(&page.exits(0).stdout, "| b01 | Is it kept? | leak\\! | under-block (oracle) | agree |\n");
}

#[test]
fn a_difference_is_1_until_it_is_explained() {
    let table = TABLE.replace("word: ok, by", "word: leak, by");
    let ran = compare(&measured(&table, "**"), &[]);
    assert_eq!(ran.exits(1).last_line(), "2 compared: 1 agree, 1 differ");
    has(&ran.stdout, "  a01  DIFFERS     leak! / pass: Does it run?\n");
    let reason = "differences: [{probes: [a01], columns: [none], measured: pass, \
                  because: version, reason: It was mended.}]\n";
    let ran = compare(&measured(&(table + reason), "**"), &[]);
    assert_eq!(ran.exits(0).last_line(), "2 compared: 1 agree, 1 explained");
    has(&ran.stdout, "\n                 version: It was mended.\n");
    let ran = compare(&measured(&(TABLE.to_owned() + reason), "**"), &[]);
    assert_eq!(ran.exits(1).last_line(), "2 compared: 1 agree, 1 stale");
}

#[test]
fn nothing_to_compare_is_3() {
    let ran = compare(&measured(&TABLE.replace("cases: [", "cases: [x/y, "), "**"), &[]);
    assert_eq!(ran.exits(3).last_line(), "0 compared: 0 agree, 2 not asked");
    let unknown = TABLE.replace("none", "other");
    let ran = compare(&measured(&unknown, "**"), &[]);
    has(&ran.exits(3).stdout, "none: not run by hand\n");
    assert_eq!(ran.last_line(), "0 compared: 0 agree");
}

#[rstest]
#[case("asks: Is", "ask: Is", "table.yaml:9: probes.b01")]
#[case("columns:", "columns: []\ncolums:", "table.yaml:")]
fn a_table_that_cannot_be_read_is_2(#[case] from: &str, #[case] to: &str, #[case] why: &str) {
    let ran = compare(&measured(&TABLE.replace(from, to), "exec/works"), &[]);
    has(&ran.exits(2).stderr, why);
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_built_in_table_is_used_unless_told_otherwise() {
    let place = measured(TABLE, "exec/works");
    let ran = place.run(&["compare", &place.arg("record.ndjson")]);
    // The cases of this corpus are not those that the built-in table names.
    has(&ran.exits(3).stdout, "a01  not asked   ok / no row for work/nothing: ");
    has(&place.run(&["compare"]).exits(2).stderr, "required arguments were not provided");
    let missing = place.run(&["compare", &place.arg("no.ndjson")]);
    has(&missing.exits(2).stderr, "no.ndjson: No such file");
}
