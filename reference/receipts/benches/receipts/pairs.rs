//! Pairs of rounds in one run, and the limits they must keep.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::time::Duration;

use crate::{sign, verify};

/// Receipts a round.
pub(crate) const COUNT: usize = 20_000;
const ROUNDS: usize = 10;

/// Measured against something that does the least of it.
struct Job {
    name: &'static str,
    whole: fn() -> Duration,
    bare: fn() -> Duration,
    /// The ratio that must not be exceeded …
    limit: f64,
    /// … unless this many a second are done.
    enough: f64,
}

const JOBS: [Job; 2] = [
    Job {
        name: "daemon / sign + write + sync",
        whole: sign::daemon,
        bare: sign::bare,
        limit: 2.0,
        enough: 5_000.0,
    },
    Job {
        name: "verify / Ed25519 verify",
        whole: verify::file,
        bare: verify::bare,
        limit: 2.5,
        enough: f64::INFINITY,
    },
];

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples[samples.len() / 2]
}

/// Median times of both, interleaved A B B A.
fn pairs(rounds: usize, a: fn() -> Duration, b: fn() -> Duration) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let order = if round % 2 == 0 { [(0, a), (1, b)] } else { [(1, b), (0, a)] };
        for (which, run) in order {
            times[which].push(run());
        }
    }
    times.map(median)
}

/// Measures and prints; fails where a limit is exceeded.
pub(crate) fn main() {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    let rounds = asked.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let only = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    println!(
        "{:<30} {:>10} {:>10} {:>10} {:>6} {:>6} {:>6}",
        "20,000 receipts", "whole", "bare", "a second", "ratio", "A/A", "limit"
    );
    let mut over = Vec::new();
    for job in JOBS.iter().filter(|job| only.as_ref().is_none_or(|word| job.name.contains(word))) {
        let [whole, bare] = pairs(rounds, job.whole, job.bare);
        let [a, again] = pairs(rounds, job.bare, job.bare);
        let ratio = whole.as_secs_f64() / bare.as_secs_f64();
        let control = a.as_secs_f64() / again.as_secs_f64();
        let rate = COUNT as f64 / whole.as_secs_f64();
        let Job { name, limit, .. } = job;
        println!(
            "{name:<30} {whole:>10.2?} {bare:>10.2?} {rate:>10.0} {ratio:>6.2} {control:>6.2} {limit:>6.2}"
        );
        if ratio > *limit && rate < job.enough {
            over.push(*name);
        }
    }
    assert!(over.is_empty(), "too slow: {over:?}");
}
