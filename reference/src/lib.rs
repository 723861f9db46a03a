//! One way to obey: a sandbox that answers the backend protocol.
//!
//! A request becomes a [`cases::protocol`](boxproof_cases::protocol) policy, the policy a pure
//! plan, the plan is carried out by one mechanism, and a result says what was observed.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "mechanisms are Linux's so far"))]

mod answer;
mod ask;
mod block;
mod cli;
pub mod dialect;
pub mod egress;
mod error;
pub mod executor;
mod profile;
#[cfg(target_os = "linux")]
pub mod receipts;
pub mod redact;
mod request;
mod settings;

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
use {elsewhere as capabilities, elsewhere as compile, elsewhere as run};

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod compile;
#[cfg(target_os = "linux")]
mod control;
mod explain;
mod fold;
mod folds;
mod glob;
mod grant;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod launch;
mod law;
#[cfg(target_os = "linux")]
mod mechanism;
#[cfg(target_os = "linux")]
mod mediate;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
pub mod supervise;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use mechanism::seatbelt::stand_in as stand_in_for_sandbox_exec;

use std::ffi::OsString;

/// Runs `refbox`; returns the exit code.
///
/// `prefix` is what must precede our arguments when the running executable is started again
/// (`["reference"]` inside a multi-call program); `args` comes without the program's name.
pub fn main(prefix: &[&str], args: impl Iterator<Item = OsString>) -> i32 {
    let args: Vec<OsString> = args.collect();
    #[cfg(target_os = "linux")]
    if let Some((first, rest)) = args.split_first()
        && first == inner::VERB
    {
        return inner::main(rest);
    }
    cli::main(prefix, args)
}
