//! The static site: whole, without scripts, its links lead somewhere, foreign text stays text.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boxproof_reports::html::site;
use boxproof_reports::{Run, Verdict};
use rstest::rstest;
use sha2::{Digest, Sha256};

use super::between;
use super::hostile::{made_of, tags};
use crate::sample::{backend, bad, examples, header, row, run};

fn files(runs: Vec<Run>) -> BTreeMap<String, String> {
    site::render(runs).unwrap().into_iter().map(|file| (file.name, file.text)).collect()
}

fn pages(files: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    files.iter().filter(|(name, _)| name.ends_with(".html") && *name != "matrix.html")
}

#[test]
fn every_link_leads_to_a_file_of_the_site() {
    for (name, runs) in examples() {
        let files = files(runs.clone());
        for (page, text) in pages(&files) {
            let targets = ["href=\"", "src=\""].iter().flat_map(|name| text.split(name).skip(1));
            let targets = targets.filter_map(|rest| rest.split(['"', '#']).next());
            for target in targets.filter(|target| target.starts_with(char::is_alphanumeric)) {
                let known = files.contains_key(target)
                    || target.starts_with("https://example.invalid")
                    || target == "data:,";
                assert!(known, "{name}: {page}: {target}");
            }
        }
        for run in &runs {
            for known in run.header.backends.iter().filter(|backend| backend.missing.is_none()) {
                assert!(files.contains_key(&format!("backend-{}.html", known.name)), "{name}");
            }
        }
    }
}

#[test]
fn nothing_but_its_own_style_is_allowed() {
    let files = files(examples()["matrix"].clone());
    for (page, text) in pages(&files) {
        let style = STANDARD.encode(Sha256::digest(between(text, "<style>", "</style>")));
        let policy = between(text, "Content-Security-Policy\" content=\"", "\"");
        assert!(policy.contains(&format!("style-src 'sha256-{style}'")), "{page}: {policy}");
        assert!(!policy.contains("script-src") && !text.contains("<script"), "{page}");
        assert!(!text.contains(" style=\""), "{page}");
    }
}

#[rstest]
#[case::markup("</style></title><script>alert(1)</script>")]
#[case::attribute("\" onmouseover=\"alert(1)\" x='y' `")]
#[case::address("https://example.invalid/\"><img/src=x>")]
#[case::control("\0\x1b[2J\u{9b}31m\r\t\u{202e}\u{feff}")]
#[case::path("../../etc/passwd")]
fn no_text_changes_the_pages(#[case] text: &str) {
    let hostile = files(vec![made_of(text)]);
    let link = text.starts_with("https://");
    let harmless = files(vec![made_of(if link { "https://example.invalid/x" } else { "x" })]);
    assert_eq!(hostile.len(), harmless.len());
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    for (name, page) in &hostile {
        assert!(name.chars().all(plain), "{name}");
        let hidden = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{feff}".contains(c));
        assert!(!page.contains(hidden), "{name}");
    }
    let shapes = |files: &BTreeMap<String, String>| {
        let mut shapes: Vec<Vec<String>> = pages(files).map(|(_, text)| tags(text)).collect();
        shapes.sort();
        shapes
    };
    assert_eq!(shapes(&hostile), shapes(&harmless));
}

/// A record of one backend whose first case came to `verdict`, of a day and a corpus.
fn record(day: &str, corpus: &str, verdict: Verdict) -> Run {
    let first = match verdict {
        Verdict::Pass => row("fs/write/first", "box"),
        other => bad("fs/write/first", "box", other, "oracle"),
    };
    let rows = [first, row("fs/write/second", "box")];
    let mut header = header(&[backend("box")], &rows);
    header.started = format!("2026-08-{day}T10:00:00Z");
    header.corpus.sha256 = corpus.repeat(64);
    run(&header, &rows)
}

#[test]
fn the_last_record_is_shown_and_the_others_are_its_trend() {
    let runs =
        [("03", "b", Verdict::UnderBlock), ("01", "a", Verdict::Pass), ("02", "b", Verdict::Pass)];
    let files = files(runs.map(|(day, corpus, verdict)| record(day, corpus, verdict)).into());
    let index = &files["index.html"];
    assert!(index.contains("aria-label=\"passed share over 3 records\""));
    assert!(index.contains("Of 2 results since the records before: 1 newly open."));
    assert!(between(index, "<h2>What changed", "</section>").contains("fs/write/first"));
    let page = &files["backend-box.html"];
    let days: Vec<&str> = page.split("2026-08-").skip(1).filter_map(|rest| rest.get(..2)).collect();
    // The drawing goes from left to right, the table begins with the newest; then the provenance.
    assert_eq!(days, ["01", "02", "03", "03", "02", "01", "03"]);
    assert!(page.contains("<p class=\"lead\">2 cases: 1 pass, 1 under-block"));
}

#[test]
fn an_older_corpus_is_in_the_trend_alone() {
    let mut other = record("01", "a", Verdict::Pass);
    other.header.backends[0].name = "elsewhere".to_owned();
    other.rows.iter_mut().for_each(|row| row.backend = "elsewhere".to_owned());
    let files = files(vec![record("02", "b", Verdict::Pass), other]);
    assert!(!files.contains_key("backend-elsewhere.html"));
    assert!(files["index.html"].contains("as they are of another corpus: 1 of the last records"));
}

#[test]
fn names_that_differ_in_signs_alone_have_files_of_their_own() {
    let (names, rows) = (["a/b", "a b"], |name: &str| [row("fs/write/one", name)]);
    let infos = names.map(backend);
    let all = names.map(rows).concat();
    let files = files(vec![run(&header(&infos, &all), &all)]);
    let kept: Vec<_> = files.keys().filter(|name| name.starts_with("backend-")).collect();
    assert_eq!(kept, ["backend-a-b.html", "backend-a-b_2.html"]);
}
