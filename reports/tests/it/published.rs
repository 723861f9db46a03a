//! The published matrix: its pages, and the summary in its README, are renderings of its records.

use std::path::{Path, PathBuf};

use boxproof_reports::record::read;
use boxproof_reports::{Run, html, markdown, merge};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The records in the order in which `boxproof matrix` reads them.
fn records() -> Vec<Run> {
    let entries = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().contains(".ndjson")).collect();
    files.sort();
    let open = |file| std::io::BufReader::new(std::fs::File::open(file).unwrap());
    files.iter().map(|file| read(open(file)).unwrap()).collect()
}

/// Returns the text that the README shows between its marks.
fn shown() -> String {
    let readme = text(&directory().join("README.md"));
    let (_, rest) = readme.split_once("<!-- matrix -->\n").unwrap();
    rest.split_once("<!-- /matrix -->\n").unwrap().0.trim().to_owned()
}

fn updates() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1")
}

/// Without records there is nothing to show, and nothing is shown.
#[test]
fn pages_and_summary_are_the_records_rendered() {
    let runs = records();
    if runs.is_empty() {
        let pages = ["matrix.md", "matrix.html"].map(|page| directory().join(page).exists());
        assert_eq!((pages, shown().as_str()), ([false; 2], ""), "there are no records of this");
        return;
    }
    let judged = runs.iter().flat_map(|run| &run.rows).filter(|row| row.verdict.is_judged());
    let bare: Vec<_> = judged.filter(|row| row.evidence.is_none()).map(|row| &row.id).collect();
    assert!(bare.is_empty(), "without what `boxproof judge` reads: {bare:?}");
    let matrix = merge(&runs).unwrap();
    for (name, page) in
        [("matrix.md", markdown::published(&matrix)), ("matrix.html", html::render(&matrix))]
    {
        let path = directory().join(name);
        if updates() {
            std::fs::write(&path, &page).unwrap();
        }
        assert!(text(&path) == page, "{name} is stale: UPDATE_GOLDEN=1 renders it anew");
    }
    let summary = markdown::summary(&matrix);
    if updates() {
        let path = directory().join("README.md");
        let page = text(&path).replace(&shown(), summary.trim());
        std::fs::write(&path, page).unwrap();
    }
    assert_eq!(shown(), summary.trim(), "the README is stale: UPDATE_GOLDEN=1 renders it anew");
}
