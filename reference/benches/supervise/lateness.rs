//! The lateness of a timeout, which counts from the command's start: alone and beside 500 others.

use std::time::Duration;

use boxproof_reference::process::{
    ProcessOutput, ProcessRequest, ProcessStdin, Unsandboxed, run_process,
};

/// Calls that are measured; their ends are spread over [`SPREAD`] each.
const MEASURED: u32 = 100;
const SPREAD: Duration = Duration::from_millis(10);
/// The timeout of the first of them: by then all neighbours are running.
const FIRST: Duration = Duration::from_secs(3);
const NEIGHBOURS: usize = 500;
/// The bound on the last percentile but one, beside the neighbours.
const LIMIT: Duration = Duration::from_millis(5);

fn sleeper(timeout: Duration) -> Duration {
    let mut request = ProcessRequest::new("/bin/sleep").args(["60"]);
    request.timeout = Some(timeout);
    request.stdin = ProcessStdin::Null;
    request.output = ProcessOutput::PassThrough;
    let result = run_process(request, &Unsandboxed).unwrap();
    assert!(result.timed_out, "{result:?}");
    let lived = result.ended_at.unwrap() - result.started_at.unwrap();
    assert!(lived >= timeout, "it ended {:?} early", timeout - lived);
    lived - timeout
}

fn measured(neighbours: usize) -> Vec<Duration> {
    let mut late = std::thread::scope(|scope| {
        let others: Vec<_> = (0..neighbours)
            .map(|at| {
                let after = FIRST + SPREAD * (MEASURED + 20) + Duration::from_millis(2) * at as u32;
                scope.spawn(move || sleeper(after))
            })
            .collect();
        let mine: Vec<_> =
            (0..MEASURED).map(|at| scope.spawn(move || sleeper(FIRST + SPREAD * at))).collect();
        let late: Vec<_> = mine.into_iter().map(|call| call.join().unwrap()).collect();
        for call in others {
            call.join().unwrap();
        }
        late
    });
    late.sort();
    late
}

/// Prints the table.
pub(crate) fn table() {
    println!("lateness of {MEASURED} time-outs (never early)");
    for neighbours in [0, NEIGHBOURS] {
        let late = measured(neighbours);
        let (median, p99) = (late[late.len() / 2], late[late.len() * 99 / 100]);
        let limit = crate::verdict(p99.as_secs_f64(), LIMIT.as_secs_f64());
        println!(
            "  beside {neighbours:3}: median {median:.2?}  p99 {p99:.2?}  (limit {LIMIT:?}: {limit})"
        );
    }
}
