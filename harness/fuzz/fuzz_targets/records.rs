//! A run record: `cargo +nightly fuzz run records ../reports/golden/green`.
#![no_main]

#[allow(dead_code, reason = "each target is one of them")]
#[path = "../../tests/it/any_bytes/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::run_record(bytes));
