//! The published matrix: its pages, and the summary in the README, are renderings of its records.

use std::path::{Path, PathBuf};

use boxproof_reports::record::read;
use boxproof_reports::{Run, html, markdown, merge};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The records in the order in which `boxproof matrix` reads them.
fn records() -> Vec<Run> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "ndjson")).collect();
    files.sort();
    assert!(!files.is_empty(), "no record is published");
    let open = |file| std::io::BufReader::new(std::fs::File::open(file).unwrap());
    files.iter().map(|file| read(open(file)).unwrap()).collect()
}

#[test]
fn pages_and_summary_are_the_records_rendered() {
    let runs = records();
    let matrix = merge(&runs).unwrap();
    let stale = "is stale: `boxproof matrix` writes it";
    let page = text(&folder().join("matrix.md"));
    assert!(page == markdown::published(&matrix), "matrix.md {stale}");
    let page = text(&folder().join("matrix.html"));
    assert!(page == html::render(&matrix), "matrix.html {stale}");
    let readme = text(&folder().join("../../README.md"));
    let (_, rest) = readme.split_once("<!-- matrix -->\n").unwrap();
    let (shown, _) = rest.split_once("<!-- /matrix -->\n").unwrap();
    assert_eq!(shown.trim(), markdown::summary(&matrix).trim(), "the README {stale}");
}

/// A matrix of one backend would say nothing about the others.
#[test]
fn several_backends_were_judged() {
    let runs = records();
    let matrix = merge(&runs).unwrap();
    let judged = (0..matrix.columns.len())
        .filter(|column| matrix.rows_of(*column).any(|row| row.verdict.is_judged()));
    assert!(judged.count() >= 3, "{:?}", matrix.columns.iter().map(|c| &c.label));
}
