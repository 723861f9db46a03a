//! The step `mediate` against attempts to evade it. The program is its own actor: started as
//! `act NAME` it does the named acts and prints the result of each, one line each; the tests have it
//! do so inside and outside a sandbox and compare.
#![cfg_attr(
    target_os = "linux",
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::needless_pass_by_value,
        reason = "a test fails by panicking; JSON literals are handed over as they are written"
    )
)]

#[cfg(target_os = "linux")]
mod acts;
#[cfg(target_os = "linux")]
#[path = "../run/bed.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod bed;
#[cfg(target_os = "linux")]
mod denied;
#[cfg(target_os = "linux")]
mod deputy;
#[cfg(target_os = "linux")]
mod faithful;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod races;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tools;

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, name, rest @ ..] = words.as_slice()
        && verb == "act"
    {
        acts::run(name, rest);
        return;
    }
    let tables = [
        denied::trials,
        deputy::trials,
        faithful::trials,
        killed::trials,
        races::trials,
        sockets::trials,
        tools::trials,
    ];
    let trials = tables.into_iter().flat_map(|table| table()).collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
