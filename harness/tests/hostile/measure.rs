//! A process between test and program: it ends as the program does, and writes down the most
//! memory that any one process below it had, as the kernel counted it.

use std::ffi::OsString;
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};

/// The first argument by which the test program is one.
pub(crate) const VERB: &str = "__measure";

/// Runs `FILE PROGRAM ARGS…` and writes kibibytes to FILE.
pub(crate) fn serve(args: &[OsString]) -> i32 {
    let (file, line) = args.split_first().unwrap();
    let (program, args) = line.split_first().unwrap();
    let status = Command::new(program).args(args).status().unwrap();
    let most = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    std::fs::write(file, most.to_string()).unwrap();
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
}
