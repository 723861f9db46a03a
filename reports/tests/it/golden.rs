//! The example records and their renderings under `golden/`, byte for byte. `UPDATE_GOLDEN=1`
//! rewrites them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use boxproof_reports::record::read;
use boxproof_reports::terminal::{self, Style, TerminalOptions};
use boxproof_reports::{Run, annotations, badge, html, junit, markdown, merge, sarif, tap};

use crate::sample::{examples, record};

fn directory(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(example)
}

/// Compares with the golden file, or rewrites it.
fn golden(path: &Path, bytes: &[u8]) {
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        return;
    }
    let wanted = std::fs::read(path)
        .unwrap_or_else(|e| panic!("{}: {e}; UPDATE_GOLDEN=1 writes it", path.display()));
    let (wanted, found) = (String::from_utf8_lossy(&wanted), String::from_utf8_lossy(bytes));
    assert_eq!(wanted, found, "{} is stale; UPDATE_GOLDEN=1 rewrites it", path.display());
}

fn terminal(runs: &[Run], style: Style, width: usize, verbose: bool) -> String {
    let options = TerminalOptions { style, width, verbose, ..TerminalOptions::default() };
    terminal::render(&merge(runs).unwrap(), options)
}

#[test]
fn example_records() {
    for (name, runs) in examples() {
        for (index, run) in runs.iter().enumerate() {
            let path = directory(name).join(format!("run-{}.ndjson", index + 1));
            golden(&path, &record(&run.header, &run.rows));
            let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
            assert_eq!(&read(file).unwrap(), run);
        }
    }
}

#[test]
fn terminal_pages() {
    for (name, runs) in examples() {
        let page = terminal(&runs, Style::Plain, 80, false);
        golden(&directory(name).join("terminal.txt"), page.as_bytes());
        let verbose = terminal(&runs, Style::Plain, 80, true);
        golden(&directory(name).join("terminal-verbose.txt"), verbose.as_bytes());
        let color = terminal(&runs, Style::Color, 80, false);
        golden(&directory(name).join("terminal-color.txt"), color.as_bytes());
    }
}

#[test]
fn markdown_pages() {
    for (name, runs) in examples() {
        let page = markdown::render(&merge(&runs).unwrap(), markdown::GITHUB_BUDGET);
        golden(&directory(name).join("summary.md"), page.as_bytes());
    }
}

#[test]
fn pages_for_other_programs() {
    for (name, runs) in examples() {
        let matrix = merge(&runs).unwrap();
        let pages = [
            ("junit.xml", junit::render(&matrix)),
            ("results.sarif", sarif::render(&matrix).unwrap()),
            ("results.tap", tap::render(&matrix)),
            ("badge.json", badge::render(&matrix)),
            ("annotations.txt", annotations::render(&matrix, &BTreeMap::new())),
        ];
        for (file, page) in pages {
            golden(&directory(name).join(file), page.as_bytes());
        }
    }
}

#[test]
fn html_pages() {
    for (name, runs) in examples() {
        let page = html::render(&merge(&runs).unwrap());
        golden(&directory(name).join("matrix.html"), page.as_bytes());
    }
}
