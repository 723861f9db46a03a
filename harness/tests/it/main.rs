//! Behaviour of the program, tested by its command line and its library: one program, so that the
//! harness is linked once. Programs with a `main` of their own (corpus, channel, hostile) stand
//! beside it.

#![allow(clippy::unwrap_used, reason = "what cannot be set up is a failed test")]

#[path = "../models_support/mod.rs"]
#[cfg(target_os = "linux")]
mod models_support;
#[path = "../support/mod.rs"]
mod support;

#[cfg(target_os = "linux")]
mod action;
mod agents;
mod answers;
mod any_bytes;
mod arms;
mod backends;
mod bench;
mod check;
mod cli;
mod compare;
mod compiled;
mod coverage;
mod gate;
mod honesty;
mod interrupt;
#[cfg(target_os = "linux")]
mod last_release;
mod manifests;
mod models;
mod parts;
mod placed_files;
mod protocol_page;
mod published;
mod recipes;
mod repro;
mod repro_arms;
mod results;
mod settings;
#[cfg(target_os = "linux")]
mod signing;
mod supervision;
mod user;
mod vectors;
mod verbs;
mod victim;
