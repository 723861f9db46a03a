//! The tables: latency of small requests, throughput of many and of a large one, memory.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use crate::awake::Awake;
use crate::channel::Channel;
use crate::client::Client;
use crate::pairs::{self, Variant};

/// The ratio to a plain proxy that must not be exceeded.
const LIMIT: f64 = 1.15;
/// Requests a round, one after another, and their size.
const REQUESTS: usize = 500;
const SMALL: u64 = 1 << 10;
/// The number of requests before the timed ones, so that none is timed right after the other proxy.
const WARM: usize = 100;
/// Agents at the same time, and what each asks for.
const AGENTS: usize = 8;
const FILES: usize = 50;
const MIDDLE: u64 = 64 << 10;
/// A large file, and the largest.
const LARGE: u64 = 256 << 20;
const LARGEST: u64 = 1 << 30;
/// The bytes that a proxy may hold more after the large answer than before.
const SLACK: u64 = 16 << 20;

fn rounds(otherwise: usize) -> usize {
    let asked = std::env::var("BOXPROOF_ROUNDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn verdict(figure: f64, limit: f64) -> &'static str {
    if figure <= limit { "holds" } else { "BROKEN" }
}

/// Prints all tables.
pub(crate) fn main() {
    let channel = Channel::start();
    let _awake = Awake::start();
    let mut criterion = pairs::criterion();
    latency(&mut criterion, &channel);
    many(&mut criterion, &channel);
    large(&mut criterion, &channel);
    memory(&channel);
    criterion.final_summary();
}

fn latency(criterion: &mut criterion::Criterion, channel: &Channel) {
    let [plain, proxy] = [RefCell::default(), RefCell::default()];
    let [plain, proxy] =
        [plain, proxy].map(|all: RefCell<Vec<Duration>>| &*Box::leak(Box::new(all)));
    let ask = |client: &mut Client, all: &RefCell<Vec<Duration>>| {
        for _ in 0..WARM {
            client.get(SMALL);
        }
        let took: Vec<Duration> = (0..REQUESTS).map(|_| client.get(SMALL)).collect();
        all.borrow_mut().extend(&took);
        took.iter().sum()
    };
    let mut directly = Client::connect(channel.plain.address);
    let mut told = Client::connect(channel.proxy.address);
    let variants = vec![
        Variant::measured("plain proxy", || ask(&mut directly, plain)),
        Variant::measured("receipts proxy", || {
            let took = ask(&mut told, proxy);
            channel.wait_until_told((WARM + REQUESTS) as u64);
            took
        }),
    ];
    let ratios = pairs::compare(criterion, "500 requests of 1 KiB, in turn", rounds(100), variants);
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        let [plain, proxy] = [plain, proxy].map(|all| quantile(&all.borrow(), part));
        let ratio = proxy.as_secs_f64() / plain.as_secs_f64();
        let held = verdict(ratio, LIMIT);
        println!("  {name} {plain:.1?} plain, {proxy:.1?} with receipts: {ratio:.2}x ({held})");
    }
    println!("  at most {LIMIT:.2}x: {}", verdict(ratios[1], LIMIT));
    println!("  frames told so far: {}", channel.told_frames());
}

fn quantile(samples: &[Duration], part: f64) -> Duration {
    let mut samples = samples.to_vec();
    samples.sort();
    samples[((samples.len() - 1) as f64 * part) as usize]
}

fn many(criterion: &mut criterion::Criterion, channel: &Channel) {
    let ask = |at| {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..AGENTS {
                scope.spawn(|| {
                    let mut client = Client::connect(at);
                    for _ in 0..FILES {
                        client.get(MIDDLE);
                    }
                });
            }
        });
        begun.elapsed()
    };
    let variants = vec![
        Variant::measured("plain proxy", || ask(channel.plain.address)),
        Variant::measured("receipts proxy", || {
            let took = ask(channel.proxy.address);
            channel.wait_until_told((AGENTS * FILES) as u64);
            took
        }),
    ];
    let ratios =
        pairs::compare(criterion, "8 agents, 50 files of 64 KiB each", rounds(40), variants);
    println!("  at most {LIMIT:.2}x: {}", verdict(ratios[1], LIMIT));
}

fn large(criterion: &mut criterion::Criterion, channel: &Channel) {
    let mut directly = Client::connect(channel.plain.address);
    let mut told = Client::connect(channel.proxy.address);
    let variants = vec![
        Variant::measured("plain proxy", || directly.get(LARGE)),
        Variant::measured("receipts proxy", || {
            let took = told.get(LARGE);
            channel.wait_until_told(1);
            took
        }),
    ];
    let ratios = pairs::compare(criterion, "one file of 256 MiB", rounds(15), variants);
    println!("  at most {LIMIT:.2}x: {}", verdict(ratios[1], LIMIT));
}

fn memory(channel: &Channel) {
    let before = channel.proxy.peak();
    Client::connect(channel.proxy.address).get(LARGEST);
    let after = channel.proxy.peak();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let grown = after - before;
    println!("memory over a file of 1 GiB: peak {:.1} MiB, {:.1} before", mib(after), mib(before));
    println!("  at most {:.0} MiB more: {}", mib(SLACK), verdict(grown as f64, SLACK as f64));
}
