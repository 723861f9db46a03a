//! Each part killed in every order while agents work: what was done and has no receipt is accounted
//! for, by a count of dropped events or by a finding, and every chain holds.

mod fixture;

use std::collections::BTreeSet;
use std::thread;

use boxproof_receipts::verify::StrictFinding;
use serde_json::Value;

use self::fixture::{Load, Part, ProxyFixture};
use crate::proxy::support::hash;

/// Channels side by side, each of which goes through all orders twice: 21 kills each time.
const SCENES: usize = 3;
const PASSES: usize = 2;

/// Each alone, then all three in every order.
const ORDERS: [&[Part]; 9] = [
    &[Part::Proxy],
    &[Part::Relay],
    &[Part::Daemon],
    &[Part::Proxy, Part::Relay, Part::Daemon],
    &[Part::Proxy, Part::Daemon, Part::Relay],
    &[Part::Relay, Part::Proxy, Part::Daemon],
    &[Part::Relay, Part::Daemon, Part::Proxy],
    &[Part::Daemon, Part::Proxy, Part::Relay],
    &[Part::Daemon, Part::Relay, Part::Proxy],
];

/// The totals of one channel.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    kills: usize,
    /// The number of actions that execd did, by its traces.
    done: usize,
    receipts: usize,
    /// Done, without a receipt.
    lost: usize,
    /// Told as dropped.
    dropped: usize,
    /// Found as missing by a strict reader, and not told as dropped.
    found: usize,
}

#[test]
fn nothing_is_lost_without_a_word() {
    let sums: Vec<Sum> = thread::scope(|scope| {
        let fixtures: Vec<_> = (0..SCENES).map(|_| scope.spawn(one)).collect();
        fixtures.into_iter().map(|fixture| fixture.join().unwrap()).collect()
    });
    for Sum { kills, done, receipts, lost, dropped, found } in &sums {
        println!(
            "{kills} kills: {done} done, {receipts} receipts, {lost} lost, of which {dropped} told, {found} found"
        );
    }
    let all = |of: fn(&Sum) -> usize| sums.iter().map(of).sum::<usize>();
    assert!(all(|sum| sum.kills) >= 100, "{sums:?}");
    // Otherwise nothing was at stake.
    assert!(sums.iter().all(|sum| sum.lost > 0), "{sums:?}");
    // Only what the relay took and the daemon did not store is left to be found.
    assert!(all(|sum| sum.found) <= all(|sum| sum.dropped), "{sums:?}");
}

fn one() -> Sum {
    let mut fixture = ProxyFixture::start();
    let mut kills = 0;
    {
        let load = Load::start(&fixture);
        for order in ORDERS.iter().cycle().take(ORDERS.len() * PASSES) {
            fixture.await_receipts(6);
            for part in *order {
                fixture.kill(*part);
                kills += 1;
                load.await_attempts(2);
            }
            order.iter().for_each(|part| fixture.restart(*part));
        }
    }
    let done = fixture.end();
    summed(&fixture, kills, &done)
}

fn summed(fixture: &ProxyFixture, kills: usize, done: &BTreeSet<String>) -> Sum {
    let (receipts, report) = (fixture.receipts(), fixture.report());
    assert!(
        report.malformed.is_empty() && report.chains.iter().all(|chain| chain.valid),
        "{report:#?}"
    );
    assert!(report.findings.iter().all(|found| found.name == "events_missing"), "{report:#?}");
    let action = |receipt: &Value, name: &str| receipt["credentialSubject"]["action"][name].clone();
    let told: Vec<String> = receipts
        .iter()
        .filter(|receipt| action(receipt, "type") == "filesystem.directory.create")
        .map(|receipt| action(receipt, "parameters_hash").as_str().unwrap().to_owned())
        .collect();
    let once: BTreeSet<String> = told.iter().cloned().collect();
    assert_eq!(once.len(), told.len(), "an action has two receipts");
    let of = |path: &String| hash(&serde_json::json!({"path": path}));
    let lost = done.iter().filter(|path| !once.contains(&of(path))).count();
    let drops = receipts
        .iter()
        .filter_map(|receipt| action(receipt, "emitter_metadata")["drop_count"].as_u64());
    let dropped = usize::try_from(drops.sum::<u64>()).unwrap();
    let found = report.findings.iter().map(unexplained).sum();
    let sum = Sum { kills, done: done.len(), receipts: told.len(), lost, dropped, found };
    assert!(dropped + found >= lost, "{sum:?}");
    // Of each kill: what every agent had begun, and the frame that was underway.
    let most = lost + kills * (Load::AGENTS + 1);
    assert!(dropped + found <= most, "more is told than can be: {sum:?}");
    sum
}

/// Returns the number of events that a finding leaves unexplained.
fn unexplained(finding: &StrictFinding) -> usize {
    let numbers: Vec<usize> =
        finding.detail.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let &[from, to, told] = &numbers[..] else { panic!("{finding:?}") };
    to + 1 - from - told
}
