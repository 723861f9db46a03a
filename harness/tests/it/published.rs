//! The published records, judged again by the program: a part of each, chosen by hash. All of them are
//! judged at night.

use std::path::{Path, PathBuf};
use std::process::Command;

use boxproof::attestation::sha256;
use boxproof_reports::{CaseRow, RecordWriter};
use rstest::rstest;
use serde::de::DeserializeOwned;

use crate::support::Place;

/// How the digest of a case's id begins, if the case is of the part: one of 64.
const PART: [&str; 4] = ["3d", "7a", "b1", "f6"];

#[test]
fn the_published_verdicts_follow_from_what_was_observed() {
    let place = Place::new();
    let records = published();
    assert!(!records.is_empty());
    let parts: Vec<String> =
        (1..=records.len()).map(|n| place.arg(&format!("{n}.ndjson"))).collect();
    for (record, part) in records.iter().zip(&parts) {
        std::fs::write(part, part_of(record)).unwrap();
    }
    let args: Vec<&str> = parts.iter().map(String::as_str).collect();
    let ran = place.run(&[&["judge"][..], &args].concat());
    for (line, part) in ran.exits(0).stdout.lines().zip(&parts) {
        let said = line.strip_prefix(&format!("{part}: 0 differences in ")).unwrap();
        let judged = said.split(' ').next().unwrap().parse::<usize>().unwrap();
        assert!(judged > 40, "{line}");
    }
}

fn published() -> Vec<PathBuf> {
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reports/matrix");
    let files = std::fs::read_dir(matrix).unwrap().map(|entry| entry.unwrap().path());
    let mut records: Vec<PathBuf> =
        files.filter(|path| path.to_string_lossy().ends_with(".ndjson.gz")).collect();
    records.sort();
    records
}

/// A whole record of the rows of the part.
fn part_of(record: &Path) -> Vec<u8> {
    let unpacked = Command::new("gzip").arg("-dc").arg(record).output().unwrap();
    assert!(unpacked.status.success());
    let text = String::from_utf8(unpacked.stdout).unwrap();
    // A small record is judged whole.
    let is_small = text.lines().count() < 1_000;
    let mut lines = text.lines();
    let header = read("header", lines.next().unwrap());
    let mut part = RecordWriter::new(Vec::new(), &header).unwrap();
    let is_row = |line: &&str| line.starts_with("{\"type\":\"case\",");
    for line in lines.filter(is_row).filter(|line| is_small || is_of_the_part(line)) {
        part.row(&read::<CaseRow>("case", line)).unwrap();
    }
    part.finish().unwrap().1
}

fn is_of_the_part(line: &str) -> bool {
    let id = line.split_once("\"id\":\"").and_then(|(_, rest)| rest.split('"').next());
    id.is_some_and(|id| PART.contains(&&sha256(id.as_bytes())[..2]))
}

/// What a line of type `kind` says.
fn read<T: DeserializeOwned>(kind: &str, line: &str) -> T {
    let body = line.strip_prefix(&format!("{{\"type\":\"{kind}\",")).unwrap();
    serde_json::from_str(&format!("{{{body}")).unwrap()
}

/// The comparison with the table made by hand is of the record beside it; at night it is made anew.
#[test]
fn the_comparison_is_of_the_published_record() {
    let records = published();
    let unpacked = Command::new("sh")
        .args(["-c", "gzip -dc \"$1\" | head -n 1", "sh"])
        .arg(&records[0])
        .output()
        .unwrap();
    let header = String::from_utf8(unpacked.stdout).unwrap();
    let header: serde_json::Value = serde_json::from_str(&header).unwrap();
    let page = records[0].with_file_name("comparison.md");
    let page = std::fs::read_to_string(page).unwrap();
    let measured: Vec<&str> = page.lines().filter(|line| line.starts_with("Measured: ")).collect();
    assert!(measured.len() > 10, "{measured:?}");
    let started = header["started"].as_str().unwrap();
    assert!(measured.iter().all(|line| line.contains(started)), "{started}: {measured:#?}");
}

/// A release asks whether the matrix is of its corpus.
#[rstest]
#[case("a1", &["a1"], 0, "")]
#[case("a1", &["a1", "b2"], 1, "run-2.ndjson.gz is of corpus b2, and ")]
#[case("a1", &[], 1, "has no record run-*.ndjson.gz")]
#[case("", &["a1"], 1, "names no corpus")]
fn a_matrix_of_another_corpus_is_told(
    #[case] corpus: &str,
    #[case] published: &[&str],
    #[case] code: i32,
    #[case] says: &str,
) {
    let place = Place::new();
    let header = |sha256: &str| {
        format!("{{\"corpus\":{{\"version\":\"0.1.0\",\"sha256\":\"{sha256}\"}}}}\n{{}}\n")
    };
    let record = place.write("record.ndjson", &header(corpus));
    std::fs::create_dir(place.path("matrix")).unwrap();
    for (sha256, number) in published.iter().zip(1..) {
        let plain = place.write(&format!("matrix/run-{number}.ndjson"), &header(sha256));
        assert!(Command::new("gzip").arg(plain).status().unwrap().success());
    }
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let script = tree.join(".github/workflows/matrix-current.sh");
    let ran = Command::new(script).arg(record).arg(place.path("matrix")).output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(code), "{told}");
    assert!(told.contains(says), "{told}");
}
