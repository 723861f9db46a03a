//! The receipts channel from outside: published vectors, the daemon as a program, crashes,
//! and other people's software at both ends.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used")]

mod canonical;
mod chains;
mod crash;
mod drops;
mod emitter;
mod interop;
mod ipc;
mod keys;
mod malformed;
mod observer;
mod proxy;
mod pty;
mod published;
mod receipts;
mod rotation;
mod start;
mod strict;
mod support;
mod verify;
