//! Known failures of supervisors of this kind: a named test for each. One at a time, as they signal
//! this very process and count its resources.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../run/bed.rs"]
#[allow(dead_code, clippy::needless_pass_by_value, reason = "made for another set of tests")]
mod bed;
mod faults;
mod signals;

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bed::TestBed;
use boxproof_reference::process::{ProcessRequest, ProcessStdin};
use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, waitpid};

static TURN: Mutex<()> = Mutex::new(());

/// Held by every test while it runs.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A shell line in the workspace of `bed`, with nothing on stdin.
fn sh(bed: &TestBed, line: &str) -> ProcessRequest {
    ProcessRequest {
        stdin: ProcessStdin::Null,
        current_dir: Some(bed.ws("")),
        ..ProcessRequest::new("/bin/sh").args(["-c", line])
    }
}

/// Fails the test if this process has a child, dead or alive.
#[track_caller]
fn no_child_is_left() {
    assert_eq!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Err(Errno::ECHILD));
}

/// Returns the number of open descriptors of this process.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Reads the signals that this process ignores and catches, from `/proc`.
fn dispositions() -> Vec<String> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status
        .lines()
        .filter(|line| ["SigIgn", "SigCgt"].contains(&&line[..6]))
        .map(str::to_owned)
        .collect()
}
