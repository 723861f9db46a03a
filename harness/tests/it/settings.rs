//! Settings of the caliban dialect: engines that are spoilt in one way each, and the rows of the
//! corpus that see the fault; a neighbour does not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;

use crate::support::fakes::{fake, verdict};
use crate::support::{Place, as_we_are};
use rstest::rstest;
use serde_json::Value;

/// Runs the rows of the built-in corpus that `filters` select against `spec`.
fn rows(place: &Place, spec: &str, filters: &[&str]) -> BTreeMap<String, Value> {
    let (scratch, record) = (place.arg("scratch"), place.arg("record.ndjson"));
    let mut args = vec!["run", "--backend", spec, "--scratch", &scratch, "--report", &record];
    args.extend(as_we_are());
    args.extend(filters);
    place.run(&args);
    let rows = place.record("record.ndjson").into_iter().filter(|line| line["type"] == "case");
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row)).collect()
}

#[rstest]
#[case::bypass(
    "lets-chains-out",
    &[
        ("config/caliban-bypass/semicolon", "under-block decision"),
        ("config/caliban-bypass/in-quotes", "under-block decision"),
        ("config/caliban-bypass/whole-line", "over-block decision"),
        ("config/caliban-auto/smuggled", "under-block decision"),
        ("config/caliban-bypass/named", "pass"),
        ("config/caliban-bypass/full-path", "pass"),
    ]
)]
#[case::asking(
    "asks-always",
    &[
        ("config/caliban-auto/held", "over-block decision"),
        ("config/caliban-auto/bypassed", "pass"),
    ]
)]
#[case::denies(
    "forgets-file-denies",
    &[
        ("config/caliban-values/every-file-list", "contract rule"),
        ("config/caliban-overlap/write", "contract rule"),
        ("config/caliban-variables/denial-of-nothing", "under-block decision"),
        ("fs/caliban-write/denied-file", "under-block oracle"),
        ("fs/caliban-read/denied-file", "under-block oracle"),
        ("fs/caliban-absent/write-denied", "under-block oracle"),
        ("fs/caliban-outside/write", "pass"),
    ]
)]
#[case::network(
    "opens-local-binding",
    &[
        ("config/caliban-values/local-binding-opens-nothing", "contract rule"),
        ("net/caliban/local-binding", "under-block oracle"),
        ("net/caliban/nothing", "pass"),
    ]
)]
#[case::secrets(
    "keeps-secrets",
    &[
        ("config/caliban-values/scrub", "contract rule"),
        ("env/caliban-scrub/key", "under-block oracle"),
        ("env/caliban-scrub/bypassed", "under-block oracle"),
        ("env/caliban-keep/passed", "pass"),
    ]
)]
#[case::lax(
    "lax-always",
    &[
        ("config/caliban-program/absent", "under-block decision"),
        ("config/caliban-platform/windows", "under-block decision"),
        ("exec/caliban-refused/no-program", "under-block oracle"),
        ("config/caliban-program/oldest", "pass"),
    ]
)]
#[case::letters(
    "reads-by-letter",
    &[
        ("config/caliban-variables/workspace", "contract rule"),
        ("config/caliban-domains/allowed", "over-block decision"),
        ("config/caliban-auto/held", "over-block decision"),
        ("config/caliban-variables/undefined", "under-block decision"),
        ("config/caliban-profile/runtime-directory", "contract rule"),
        ("config/caliban-keys/top", "pass"),
    ]
)]
#[case::places("loses-places", &[("config/caliban-keys/top", "contract rule")])]
#[case::exit_code("exits-with-zero", &[("config/caliban-keys/top", "contract exit"), ("config/caliban-auto/not-said", "contract exit")])]
#[case::silent("keeps-answers", &[("config/caliban-keys/top", "inconclusive no-record"), ("config/caliban-auto/denied", "inconclusive no-record")])]
fn a_spoilt_engine_is_found_out(#[case] name: &str, #[case] wanted: &[(&str, &str)]) {
    let (place, spec) = fake(name);
    let filters: Vec<&str> = wanted.iter().map(|(id, _)| *id).collect();
    let rows = rows(&place, &spec, &filters);
    let found: Vec<_> =
        filters.iter().map(|id| (*id, rows.get(*id).map(verdict).unwrap_or_default())).collect();
    let wanted: Vec<_> = wanted.iter().map(|(id, word)| (*id, (*word).to_owned())).collect();
    assert_eq!(found, wanted, "{rows:#?}");
}
