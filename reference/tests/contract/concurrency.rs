//! Calls in several threads run side by side.

use std::time::{Duration, Instant};

use crate::{run, sh, timed};

/// Runs `calls` at once; how long all of it took.
fn together<T: Send>(calls: Vec<impl FnOnce() -> T + Send>) -> (Duration, Vec<T>) {
    let begun = Instant::now();
    let results = std::thread::scope(|scope| {
        let calls: Vec<_> = calls.into_iter().map(|call| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    (begun.elapsed(), results)
}

#[test]
fn each_deadline_starts_at_its_own_spawn() {
    const CALLS: u32 = 8;
    let timeout = Duration::from_millis(700);
    let call = || run(timed("exec sleep 600", 700));
    let (took, results) = together((0..CALLS).map(|_| call).collect());
    let all: Duration = results.iter().map(|result| result.duration).sum();
    for result in results {
        assert!(result.timed_out);
        assert!(result.duration >= timeout, "early: {:?}", result.duration);
    }
    // One after the other they would take as long as all of them, however slow each is.
    assert!(took < all / 2, "one after the other: {took:?} of {all:?}");
}

#[test]
fn no_call_gets_what_is_anothers() {
    let call = |number: i32| {
        move || {
            let line = format!("head -c 300000 /dev/zero | tr '\\0' {number}; exit {number}");
            let result = run(sh(&line));
            let digit = u8::try_from(number).unwrap() + b'0';
            assert_eq!((result.exit_code, result.stdout.len()), (Some(number), 300_000));
            assert!(result.stdout.iter().all(|byte| *byte == digit));
        }
    };
    let (_, done) = together((1..=9).map(call).collect());
    assert_eq!(done.len(), 9);
}
