//! A shell line is read or refused: `cargo +nightly fuzz run lines tests/seeds/lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| boxproof_reference::untrusted::read_line(bytes));
