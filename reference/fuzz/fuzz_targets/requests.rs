//! A request is read or refused: `cargo +nightly fuzz run requests tests/seeds/requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| boxproof_reference::untrusted::read_request(bytes));
