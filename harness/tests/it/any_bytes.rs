//! Readers are fed with anything: they take it or refuse it, soon and without a panic. The same
//! functions are fuzz targets, in `fuzz`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/byte_mutator.rs"]
mod byte_mutator;
mod readers;

use std::path::{Path, PathBuf};

use rstest::rstest;

/// The texts of the files at `paths` from the root of the repository; of those in a directory.
fn seeds(paths: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = |path: &&str| -> Vec<PathBuf> {
        let path = root.join(path);
        if path.is_file() {
            return vec![path];
        }
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.is_file());
        files.sort();
        files
    };
    let files: Vec<PathBuf> = paths.iter().flat_map(files).collect();
    assert!(!files.is_empty(), "{paths:?}");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[rstest]
#[case::cases("cases", &["cases/corpus/ipc", "cases/corpus/policy/merge-valid.yaml"], 400, readers::case_file)]
#[case::manifests("manifests", &["harness/backends/bubblewrap.yaml", "harness/backends/firejail.yaml", "harness/tests/fakes/honest.yaml"], 400, readers::manifest)]
#[case::known_failures("known failures", &["harness/tests/seeds/known"], 600, readers::known_failures)]
#[case::results("results", &["harness/tests/seeds/results"], 1500, readers::result)]
#[case::records("records", &["reports/golden/green/run-1.ndjson", "reports/golden/format-1.ndjson"], 600, readers::run_record)]
#[case::probe_records("probe records", &["harness/tests/seeds/probe-records"], 3000, readers::probe_record)]
#[case::seatbelt("Seatbelt texts", &["harness/tests/seeds/seatbelt"], 1500, readers::seatbelt)]
#[case::mounts("mount tables", &["harness/tests/seeds/mounts"], 1500, readers::mount_table)]
fn any_bytes_are_taken_or_refused(
    #[case] name: &str,
    #[case] paths: &[&str],
    #[case] inputs: u64,
    #[case] reader: fn(&[u8]),
) {
    byte_mutator::feed(name, &seeds(paths), inputs, reader);
}
