//! The proxy and the relay as programs, in front of a small execd that really acts.
#![cfg(target_os = "linux")]

mod bytes;
mod commands;
mod drops;
mod files;
mod python;
mod relay;
mod support;
mod terminals;
