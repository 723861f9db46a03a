//! Merging: columns, shards, and everything that must not merge.

use boxproof_reports::{CaseRow, Header, MergeError, Run, Selection, Shard, merge};
use serde_json::json;

use crate::sample::{ROOT, backend, header, row, run};

fn rows(ids: &[&str]) -> Vec<CaseRow> {
    ids.iter().map(|id| row(id, "box")).collect()
}

/// A run of `ids` out of a selection of `of`.
fn part(of: &[&str], ids: &[&str], edit: impl FnOnce(&mut Header)) -> Run {
    let mut header = header(&[backend("box")], &[]);
    header.selection = Selection::whole_selection(of.iter().copied());
    edit(&mut header);
    run(&header, &rows(ids))
}

fn whole(ids: &[&str], edit: impl FnOnce(&mut Header)) -> Run {
    part(ids, ids, edit)
}

fn shard(index: u32) -> impl FnOnce(&mut Header) {
    move |header| header.selection.shard = Some(Shard { index, of: 2 })
}

fn labels(runs: &[Run]) -> Vec<String> {
    merge(runs).unwrap().columns.into_iter().map(|column| column.label).collect()
}

const ABC: [&str; 3] = ["fs/a", "fs/b", "net/c"];

#[test]
fn shards_become_one_column_with_every_row() {
    let runs = [part(&ABC, &ABC[..1], shard(1)), part(&ABC, &ABC[1..], shard(2))];
    let matrix = merge(&runs).unwrap();
    assert_eq!(matrix.columns.len(), 1);
    assert_eq!(matrix.rows_of(0).map(|row| row.id.as_str()).collect::<Vec<_>>(), ABC);
    assert_eq!(matrix.sections.iter().map(|s| s.area).collect::<Vec<_>>(), ["fs", "net"]);
}

#[test]
fn where_a_program_lies_does_not_set_shards_apart() {
    let elsewhere = |header: &mut Header| {
        shard(2)(header);
        header.backends[0].program = "/opt/box".into();
    };
    let runs = [part(&ABC, &ABC[..1], shard(1)), part(&ABC, &ABC[1..], elsewhere)];
    assert_eq!(merge(&runs).unwrap().columns.len(), 1);
}

#[test]
fn a_lost_shard_is_named() {
    let error = merge(&[part(&ABC, &ABC[1..], shard(2))]).unwrap_err();
    assert!(matches!(&error, MergeError::Incomplete { found: 2, selected: 3, .. }), "{error}");
    assert!(error.to_string().contains("shard 2/2"), "{error}");
}

#[test]
fn a_stranger_in_place_of_a_case_is_noticed() {
    let error = merge(&[part(&ABC, &["fs/a", "fs/b", "net/d"], |_| ())]).unwrap_err();
    assert!(matches!(error, MergeError::Incomplete { found: 3, selected: 3, .. }), "{error}");
}

#[test]
fn a_case_in_two_records_is_refused() {
    let runs = [part(&ABC, &ABC[..2], shard(1)), part(&ABC, &ABC[1..], shard(2))];
    let error = merge(&runs).unwrap_err();
    assert!(matches!(&error, MergeError::Overlap { id, .. } if id == "fs/b"), "{error}");
}

#[test]
fn shards_of_different_selections_are_refused() {
    let runs = [part(&ABC, &ABC[..1], shard(1)), part(&ABC[1..], &ABC[1..], shard(2))];
    assert!(matches!(merge(&runs), Err(MergeError::Selections { .. })));
}

#[test]
fn shards_from_different_hosts_do_not_make_a_whole() {
    let other = |header: &mut Header| {
        shard(2)(header);
        header.host.insert("userns".into(), json!(false));
    };
    let runs = [part(&ABC, &ABC[..1], shard(1)), part(&ABC, &ABC[1..], other)];
    assert!(matches!(merge(&runs), Err(MergeError::Incomplete { found: 1, .. })));
}

#[test]
fn different_corpora_are_refused() {
    let other = |header: &mut Header| header.corpus.sha256 = "00".into();
    let runs = [whole(&ABC, |_| ()), whole(&ABC, other)];
    assert!(matches!(merge(&runs), Err(MergeError::Corpora { .. })));
    assert_eq!(merge(&[]), Err(MergeError::Nothing));
}

#[test]
fn columns_are_told_apart_by_what_differs() {
    let root = |header: &mut Header| header.user = ROOT;
    let runs = [whole(&ABC, |_| ()), whole(&ABC, root)];
    assert_eq!(labels(&runs), ["box ordinary", "box root"]);
    let newer = |header: &mut Header| header.backends[0].version = "0.2.0".into();
    let runs = [whole(&ABC, |_| ()), whole(&ABC, newer)];
    assert_eq!(labels(&runs), ["box 0.1.0", "box 0.2.0"]);
    let kernel = |header: &mut Header| drop(header.host.insert("kernel".into(), json!("6.1")));
    let runs = [whole(&ABC, |_| ()), whole(&ABC, kernel)];
    let hosts = ["box Ubuntu 24.04 6.8.0-31-generic x86_64", "box Ubuntu 24.04 6.1 x86_64"];
    assert_eq!(labels(&runs), hosts);
    let fact = |header: &mut Header| drop(header.host.insert("userns".into(), json!(false)));
    let runs = [whole(&ABC, |_| ()), whole(&ABC, fact)];
    assert_eq!(labels(&runs), ["box userns=true", "box userns=false"]);
}

#[test]
fn a_case_only_one_column_has_leaves_a_blank() {
    let root = |header: &mut Header| header.user = ROOT;
    let runs = [whole(&ABC, |_| ()), whole(&ABC[..1], root)];
    let matrix = merge(&runs).unwrap();
    let cells: Vec<bool> = matrix.sections[0].rows[1].cells.iter().map(Option::is_some).collect();
    assert_eq!(cells, [true, false]);
    assert_eq!(matrix.rows().count(), 4);
}

#[test]
fn a_missing_backend_is_no_column_and_is_not_forgotten() {
    let absent = |header: &mut Header| {
        let mut gone = backend("gone");
        gone.missing = Some("get it".into());
        header.backends.push(gone);
    };
    let absent_for_root = |header: &mut Header| {
        absent(header);
        header.user = ROOT;
    };
    let runs = [whole(&ABC, absent), whole(&ABC, absent_for_root)];
    let matrix = merge(&runs).unwrap();
    assert_eq!(matrix.columns.len(), 2);
    assert_eq!(matrix.missing.iter().map(|b| b.name.as_str()).collect::<Vec<_>>(), ["gone"]);
}
