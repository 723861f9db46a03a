//! `refbox run` on real commands: for every element one act that must work and one that must not.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking; JSON literals are handed over as they are written"
)]

mod absent;
mod advice;
mod bed;
mod caller;
mod covered;
mod egress;
mod environment;
mod exec;
mod explained;
mod files;
mod idle;
mod interrupts;
mod masks;
mod network;
mod observed;
mod process;
mod protect;
mod refusal;
mod residue;
mod supervise;
mod table;
mod tee;
mod trusted;
