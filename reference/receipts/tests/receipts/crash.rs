//! Killed again and again under load: nothing that was seen stored is lost, and the chains hold.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{DaemonFixture, await_that, frame, framed};

/// Rounds in an ordinary run; `BOXPROOF_CRASHES` asks for more.
const ROUNDS: usize = 12;

/// Sends to the current daemon until told to stop; a daemon that dies costs a frame or two.
fn load(fixture: &DaemonFixture, sandbox: &str, stop: &AtomicBool) {
    let with = json!({"sandbox_id": sandbox, "drop_count": 1, "input": {"n": "x".repeat(300)}});
    let bytes = framed(&frame(with));
    let mut stream = None;
    while !stop.load(Ordering::Relaxed) {
        let mut connected = stream.take().or_else(|| UnixStream::connect(fixture.socket()).ok());
        if connected.as_mut().is_some_and(|stream| stream.write_all(&bytes).is_ok()) {
            stream = connected;
        } else {
            thread::yield_now();
        }
    }
}

/// A store grows with every round, and with it each start: after so many a new one is taken.
const A_STORE: usize = 12;

#[test]
fn killed_under_load() {
    let asked = std::env::var("BOXPROOF_CRASHES").ok();
    let mut rounds = asked.map_or(ROUNDS, |text| text.parse().unwrap());
    while rounds > 0 {
        let part = rounds.min(A_STORE);
        killed(part);
        rounds -= part;
    }
}

fn killed(rounds: usize) {
    let fixture = DaemonFixture::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for sandbox in ["a", "b", "c"] {
            let (fixture, stop) = (&fixture, &stop);
            scope.spawn(move || load(fixture, sandbox, stop));
        }
        let _stops = StopAtEnd(&stop);
        let mut seen: Vec<u8> = Vec::new();
        for round in 0..rounds {
            let daemon = fixture.start(&[]);
            // It started on what was there: a cut tail was never seen as whole lines.
            let resumed = fixture.bytes();
            assert!(resumed.starts_with(&seen), "round {round}: what was stored is gone");
            // Somewhere in the middle of the load, at another place each time.
            let more = resumed.len() + 20_000 + round * 1_713;
            seen = await_that("the load to arrive", || {
                let bytes = fixture.bytes();
                (bytes.len() > more).then_some(bytes)
            });
            daemon.end(Signal::SIGKILL);
        }
    });
    fixture.start(&[]).end(Signal::SIGTERM);
    let report = fixture.assert_valid();
    // One root and three sandboxes; a second anchor or number would be a finding.
    assert_eq!(report.chains.len(), 4);
    let receipts: usize = report.chains.iter().map(|chain| chain.length).sum();
    assert!(receipts > 10 * rounds, "{receipts} receipts in {rounds} rounds");
}

/// Lets the load end also when the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
