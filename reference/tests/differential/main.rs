//! The rules' decisions and a command's real access inside `run`, for generated profiles over
//! generated trees: one answer for every path. `BOXPROOF_PROFILES` sets the number of profiles,
//! `BOXPROOF_SEED` the seed.
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
mod actor;
#[cfg(target_os = "linux")]
#[path = "../run/bed.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod bed;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod generate;
#[cfg(target_os = "linux")]
mod rules;

#[cfg(target_os = "linux")]
fn main() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("act") {
        actor::act();
        return;
    }
    let trials = compare::trials();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
