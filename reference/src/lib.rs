//! One way to obey: a sandbox that answers the backend protocol.
//!
//! A request becomes a [`cases::protocol`](boxproof_cases::protocol) policy, the policy a pure
//! plan, one mechanism carries the plan out, and a result reports the observations.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, unused_imports, reason = "most mechanisms are Linux's")
)]

// A link to the channel's source, which is in no package but its own: what is packed holds a copy.
#[macro_use]
mod fault;

mod claims;
mod cli;
mod control;
pub mod egress;
mod error;
mod explain;
#[cfg(any(feature = "faults", test))]
mod faults;
mod host;
mod init;
mod mechanism;
#[cfg_attr(not(target_os = "linux"), path = "unsupported/mediate.rs")]
mod mediate;
mod plan;
pub mod policy;
mod request;
mod result;
mod run;
// A link, too: the channel is no part of this crate and prints the same way.
mod stdout;
mod supervise;
mod sys;
#[doc(hidden)]
pub mod untrusted;

pub use run::process;

#[doc(hidden)]
pub use mechanism::seatbelt::stand_in as stand_in_for_sandbox_exec;

use std::ffi::OsString;

/// Runs `refbox`; returns the exit code.
///
/// `prefix` is what must precede our arguments when the running executable is started again
/// (`["reference"]` inside a multi-call program); `args` comes without the program's name.
pub fn main(prefix: &[&str], args: impl Iterator<Item = OsString>) -> i32 {
    #[cfg(feature = "faults")]
    return faults::main(prefix, args.collect(), run_verb);
    #[cfg(not(feature = "faults"))]
    run_verb(prefix, args.collect())
}

fn run_verb(prefix: &[&str], args: Vec<OsString>) -> i32 {
    if let Some((first, rest)) = args.split_first()
        && first == init::VERB
    {
        return init::main(rest);
    }
    cli::main(prefix, args)
}
