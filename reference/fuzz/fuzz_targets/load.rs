//! Any text is a policy, or an error with a place: `cargo +nightly fuzz run load tests/malformed`.
#![no_main]

use boxproof_reference::policy::orbit::{PolicyDocument, PolicySet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match PolicyDocument::parse("document", "document", text) {
        Ok(document) => drop(PolicySet::new(&document, None)),
        Err(error) => assert!(error.place.is_some(), "{error}"),
    }
});
