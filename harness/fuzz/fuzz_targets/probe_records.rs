//! The streams of a command: `cargo +nightly fuzz run probe-records tests/seeds/probe-records`.
#![no_main]

#[allow(dead_code, reason = "each target is one of them")]
#[path = "../../tests/it/any_bytes/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::probe_record(bytes));
