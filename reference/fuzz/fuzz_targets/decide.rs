//! The index decides as the patterns one by one: `cargo +nightly fuzz run decide`. The first line
//! is a path, each further one a pattern.
#![no_main]

use boxproof_reference::policy::orbit::{OrbitGlob, PatternIndex};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let path: Vec<&str> = lines.next().unwrap_or_default().split('/').collect();
    let globs: Vec<OrbitGlob> = lines.take(32).map(OrbitGlob::new).collect();
    let one_by_one = globs.iter().rposition(|glob| glob.matches(&path));
    assert_eq!(PatternIndex::new(&globs).last_match(&path), one_by_one);
});
