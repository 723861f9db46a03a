//! A process between test and program: it ends as the program does, and writes down the most
//! memory that any one process below it had, as the kernel counted it.

use std::ffi::OsString;
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::stat::{Mode, umask};

/// The first argument by which the test program is one.
pub(crate) const VERB: &str = "__measure";

/// The variable by which the program starts with another umask, in octal digits.
pub(crate) const UMASK: &str = "BOXPROOF_HOSTILE_UMASK";

/// Runs `FILE PROGRAM ARGS…` and writes kibibytes to FILE.
pub(crate) fn serve(args: &[OsString]) -> i32 {
    let (file, line) = args.split_first().unwrap();
    let (program, args) = line.split_first().unwrap();
    let mask = std::env::var(UMASK).map(|digits| u32::from_str_radix(&digits, 8).unwrap());
    let before = mask.map(|mask| umask(Mode::from_bits_truncate(mask)));
    let status = Command::new(program).args(args).status().unwrap();
    before.map(umask).ok();
    let most = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    std::fs::write(file, most.to_string()).unwrap();
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
}
