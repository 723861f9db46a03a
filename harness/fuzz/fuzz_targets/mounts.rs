//! The arguments of bubblewrap: `cargo +nightly fuzz run mounts tests/seeds/mounts`.
#![no_main]

#[allow(dead_code, reason = "each target is one of them")]
#[path = "../../tests/it/any_bytes/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::mount_table(bytes));
