//! The supervised-exec contract, on the library function: what each request gives.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../run/bed.rs"]
#[allow(dead_code, clippy::needless_pass_by_value, reason = "made for another set of tests")]
mod bed;
mod concurrency;
mod endings;
mod requests;
mod streams;
mod timeouts;

use std::time::Duration;

use boxproof_reference::process::{
    ProcessRequest, ProcessResult, ProcessStdin, Unsandboxed, run_process,
};

/// A shell line with nothing on stdin.
fn sh(line: &str) -> ProcessRequest {
    let stdin = ProcessStdin::Null;
    ProcessRequest { stdin, ..ProcessRequest::new("/bin/sh").args(["-c", line]) }
}

/// Builds the request of a line with a timeout in milliseconds.
fn timed(line: &str, milliseconds: u64) -> ProcessRequest {
    ProcessRequest { timeout: Some(Duration::from_millis(milliseconds)), ..sh(line) }
}

/// Runs what must give a result.
#[track_caller]
fn run(request: ProcessRequest) -> ProcessResult {
    run_process(request, &Unsandboxed).unwrap()
}
