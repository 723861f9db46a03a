//! Documents that are no policies, a file each: every one is an error with line and column, and
//! nothing of it is taken.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use boxproof_reference::policy::orbit::{PolicyDocument, PolicyError, PolicySet};

fn documents() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let mut all: Vec<PathBuf> =
        directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn load(name: &str, text: &str) -> Result<PolicySet, PolicyError> {
    PolicySet::new(&PolicyDocument::parse(name, name, text)?, None)
}

#[test]
fn every_malformed_document_is_located() {
    let all = documents();
    assert!(all.len() >= 60, "{}", all.len());
    for path in all {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let Err(error) = load(name, &text) else { panic!("{name} is taken for a policy") };
        let place = error.place.clone().unwrap_or_else(|| panic!("{name}: {error}"));
        let lines = text.lines().count().max(1);
        assert!((1..=lines + 1).contains(&place.line) && place.column > 0, "{name}: {error}");
        assert!(!error.message.contains('\n') && error.message.len() > 10, "{name}: {error}");
    }
}

/// Checks that no cut or change of a document panics: it gives an error or a policy.
/// `BOXPROOF_FUZZ_SECONDS` sets the duration; by default every document is changed once.
#[test]
fn no_change_of_a_document_panics() {
    let seconds = std::env::var("BOXPROOF_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(seconds.unwrap_or(0));
    let texts: Vec<String> =
        documents().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let (mut state, mut tried) = (0x2545_f491_4f6c_dd1d_u64, 0);
    loop {
        for text in &texts {
            let changed = changed(text, &texts, &mut state);
            if let Ok(set) = load("changed", &changed) {
                decide(&set);
            }
            tried += 1;
        }
        if std::time::Instant::now() >= until {
            println!("{tried} documents");
            return;
        }
    }
}

fn decide(set: &PolicySet) {
    use boxproof_reference::policy::orbit::PolicyOperation;
    for name in set.profile_names() {
        let profile = set.profile(name).unwrap();
        for op in [PolicyOperation::Read, PolicyOperation::Modify] {
            let one = profile.decide(op, &["a", "b"]).allowed;
            assert_eq!(one, profile.decide(op, &["a", "b"]).allowed);
        }
    }
}

/// A number from xorshift64.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    usize::try_from(*state >> 33).unwrap()
}

/// A text with something cut out of it, doubled, or put in from another.
fn changed(text: &str, others: &[String], state: &mut u64) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=next(state) % 3 {
        let at = next(state) % (characters.len() + 1);
        let to = (at + next(state) % 12).min(characters.len());
        match next(state) % 3 {
            0 => drop(characters.drain(at..to)),
            1 => {
                let part = characters[at..to].to_vec();
                characters.splice(at..at, part);
            }
            _ => {
                let other: Vec<char> = others[next(state) % others.len()].chars().collect();
                let from = next(state) % (other.len() + 1);
                let part = other[from..(from + 20).min(other.len())].to_vec();
                characters.splice(at..at, part);
            }
        }
    }
    characters.into_iter().collect()
}
