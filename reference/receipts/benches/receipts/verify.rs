//! A file of receipts verified as `verify` does it, and its bare signatures.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use boxproof_receipts::keys;
use boxproof_receipts::parsed_receipt::read;
use boxproof_receipts::verify::{ChainExpectations, VerifyOptions, verify_file};
use ed25519_dalek::{Signature, VerifyingKey};

use crate::sign;

struct Filled {
    lines: Vec<u8>,
    key: VerifyingKey,
    signed: Vec<(Vec<u8>, Signature)>,
}

/// The store of a daemon, filled once.
static FILLED: LazyLock<Filled> = LazyLock::new(|| {
    let directory = sign::directory();
    let daemon = sign::start(directory.path());
    sign::fill(directory.path());
    drop(daemon);
    let lines = std::fs::read(directory.path().join("store")).unwrap();
    let each = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let signed = each.map(|line| {
        let receipt = read(line).unwrap();
        (receipt.signed.clone(), receipt.signature().unwrap())
    });
    let signed = signed.collect();
    let key = keys::read_public(&directory.path().join("key.pub")).unwrap();
    Filled { lines, key, signed }
});

pub(crate) fn file() -> Duration {
    let Filled { lines, key, .. } = &*FILLED;
    let start = Instant::now();
    let report =
        verify_file(lines, key, &ChainExpectations::default(), VerifyOptions::default()).unwrap();
    let took = start.elapsed();
    assert!(report.valid);
    took
}

pub(crate) fn bare() -> Duration {
    let Filled { key, signed, .. } = &*FILLED;
    let start = Instant::now();
    assert!(signed.iter().all(|(text, signature)| key.verify_strict(text, signature).is_ok()));
    start.elapsed()
}
