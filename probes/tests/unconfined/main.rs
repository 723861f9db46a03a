//! Ground truth of every probe with no sandbox around it, refusals errno-exact.

#![allow(clippy::expect_used, reason = "a fixture that fails must fail its test")]

mod acts;
mod background;
mod catalogue;
mod env;
mod fs;
mod fs_names;
mod limits;
mod net;
mod support;
mod usage;
mod waits;
mod ways;

#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod linux_ways;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod pidfd;
#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod terminal;
