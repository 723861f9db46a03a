//! Patterns of paths is read or refused: `cargo +nightly fuzz run patterns tests/seeds/patterns`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| boxproof_reference::untrusted::read_patterns(bytes));
