//! Hostile backends, short hosts and malformed input: each row is one program or one host, tried as
//! root and as an ordinary user, with the verdict it gets, how long it takes, the memory it costs
//! and what it leaves. The table is printed at the end.
//!
//! `BOXPROOF_HOSTILE=all` runs the slow rows, too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(target_os = "linux")]
mod answers;
#[cfg(target_os = "linux")]
mod baseline;
#[cfg(target_os = "linux")]
mod context;
#[cfg(target_os = "linux")]
mod endless;
#[cfg(target_os = "linux")]
mod measure;
#[path = "../support/mod.rs"]
mod support;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the rows need Linux: none is run");
}

#[cfg(target_os = "linux")]
fn main() {
    let args: Vec<_> = std::env::args_os().collect();
    if args.get(1).is_some_and(|verb| verb == measure::VERB) {
        std::process::exit(measure::serve(&args[2..]));
    }
    let rows = [baseline::rows(), answers::rows(), endless::rows()].concat();
    context::run(rows);
}
