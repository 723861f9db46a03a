//! Hostile backends, short hosts and malformed input: each row is one program or one host, tried as
//! root and as an ordinary user, with the verdict it gets, its time, its memory
//! and its leftovers. The table is printed at the end.
//!
//! `BOXPROOF_HOSTILE=all` runs the slow rows, too.

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the rows need Linux"))]
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
mod liars;
#[cfg(target_os = "linux")]
mod malformed;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod observation;
#[cfg(target_os = "linux")]
mod odd_host;
#[cfg(target_os = "linux")]
mod outputs;
#[cfg(target_os = "linux")]
mod privilege;
#[cfg(target_os = "linux")]
mod refused_calls;
#[cfg(target_os = "linux")]
mod removal;
#[cfg(target_os = "linux")]
mod residue;
#[cfg(target_os = "linux")]
mod short_host;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
mod swapped;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod unsteady;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the rows need Linux: none is run");
}

#[cfg(target_os = "linux")]
fn main() {
    let args: Vec<_> = std::env::args_os().collect();
    let verb = args.get(1).and_then(|verb| verb.to_str()).unwrap_or_default();
    match verb {
        measure::VERB => std::process::exit(measure::serve(&args[2..])),
        refused_calls::VERB => std::process::exit(refused_calls::serve(&args[2..])),
        swapped::VERB => std::process::exit(swapped::serve(&args[2..])),
        removal::BIND => std::process::exit(removal::bind(&args[2..])),
        _ => {}
    }
    let rows = [
        answers::rows(),
        baseline::rows(),
        endless::rows(),
        liars::rows(),
        malformed::rows(),
        observation::rows(),
        odd_host::rows(),
        outputs::rows(),
        privilege::rows(),
        refused_calls::rows(),
        removal::rows(),
        residue::rows(),
        short_host::rows(),
        swapped::rows(),
        unsteady::rows(),
    ];
    let rows = rows.concat();
    context::run(rows);
}
