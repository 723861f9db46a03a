//! The end of a tree of 1,000 processes with its command: the time until the call returns, and the
//! number of processes left then. None may be.

use std::time::Duration;

use boxproof_reference::process::{
    ProcessOutput, ProcessRequest, ProcessStdin, Unsandboxed, run_process,
};

const PROCESSES: usize = 1_000;
const ROUNDS: usize = 3;

/// The ways in which each process of the tree detaches.
const SHAPES: [(&str, &str); 3] = [
    ("plain", "sleep $T & n=$((n+1))"),
    ("setsid", "setsid sleep $T & n=$((n+1))"),
    ("daemon", "(setsid sleep $T </dev/null >/dev/null 2>&1 &) ; n=$((n+1))"),
];

/// Starts the tree, waits until all of it sleeps, says when, and ends.
fn command(shape: &str, nonce: &str) -> ProcessRequest {
    let line = format!(
        "T={nonce}; n=0; while [ $n -lt {PROCESSES} ]; do {shape}; done\n\
         until [ $(pgrep -c -x -f \"sleep $T\") -ge {PROCESSES} ]; do :; done\n\
         cut -d' ' -f1 /proc/uptime"
    );
    let mut request = ProcessRequest::new("/bin/sh").args(["-c", &line]);
    request.stdin = ProcessStdin::Null;
    request.output = ProcessOutput::Capture;
    request
}

/// Returns the number of processes that still carry `nonce`.
fn left(nonce: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(nonce)).count()
}

fn uptime() -> f64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Prints the table.
pub(crate) fn table() {
    println!("end of a tree of {PROCESSES} (10 ms steps)");
    for (name, shape) in SHAPES {
        let mut took = Vec::new();
        let mut survivors = 0;
        for round in 0..ROUNDS {
            let nonce = format!("1000.{}{round}", std::process::id());
            let result = run_process(command(shape, &nonce), &Unsandboxed).unwrap();
            let returned = uptime();
            survivors += left(&nonce);
            assert!(result.success, "{}", result.stderr_text());
            let ended: f64 = result.stdout_text().trim().parse().unwrap();
            took.push(Duration::from_secs_f64((returned - ended).max(0.0)));
        }
        took.sort();
        let verdict = crate::verdict(survivors as f64, 0.0);
        println!("  {name:8} {:?}  {survivors} left ({verdict})", took[ROUNDS / 2]);
    }
}
