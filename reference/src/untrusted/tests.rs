//! Any bytes are fed to each reader.

use super::*;
use rstest::rstest;

#[path = "../../../harness/tests/support/byte_mutator.rs"]
mod byte_mutator;

/// The texts of the files in `directory` below `tests`.
fn seeds(directory: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(directory);
    let entries = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[rstest]
#[case::requests("seeds/requests", 800, read_request)]
#[case::lines("seeds/lines", 800, read_line)]
#[case::patterns("seeds/patterns", 300, read_patterns)]
#[case::hosts("seeds/hosts", 3000, read_hosts)]
#[case::policies("seeds/policies", 300, read_policy)]
#[case::malformed_policies("malformed", 300, read_policy)]
fn any_bytes_are_taken_or_refused(
    #[case] directory: &str,
    #[case] inputs: u64,
    #[case] reader: fn(&[u8]),
) {
    byte_mutator::feed(directory, &seeds(directory), inputs, reader);
}
