//! The proxy and the relay as programs, in front of a small execd that really acts.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod bytes;
mod commands;
mod drops;
mod files;
mod kills;
mod python;
mod relay;
mod support;
mod terminals;
