//! Ways out of a private network: what is allowed is reached by ordinary clients, what is not is
//! refused by name, and nothing leads around or is left behind. Everything is on loopback.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking; JSON literals are handed over as they are written"
)]

mod around;
#[path = "../run/bed.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod bed;
mod broken;
mod clients;
mod killed;
mod origin;
mod port;
mod scene;
mod settings;
mod wire;
