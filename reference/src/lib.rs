//! One way to obey: a sandbox that answers the backend protocol.
//!
//! A request becomes a [`cases::protocol`](boxproof_cases::protocol) policy, the policy a pure
//! plan, the plan is carried out by one mechanism, and a result says what was observed.

mod capabilities;
mod cli;
mod control;
mod error;
mod host;
mod inner;
mod launch;
mod mechanism;
mod plan;
mod report;
mod request;
mod run;
mod supervise;
mod sys;

use std::ffi::OsString;

/// Runs `refbox`; returns the exit code.
///
/// `prefix` is what must precede our arguments when the running executable is started again
/// (`["reference"]` inside a multi-call program); `args` comes without the program's name.
pub fn main(prefix: &[&str], args: impl Iterator<Item = OsString>) -> i32 {
    let args: Vec<OsString> = args.collect();
    match args.split_first() {
        Some((first, rest)) if first == inner::VERB => inner::main(rest),
        _ => cli::main(prefix, args),
    }
}
