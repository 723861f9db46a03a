//! The eyes of boxproof: one multi-call program that tries one thing and says what it saw.
//!
//! [`main`] is the whole program, [`catalog`] lists what it can try, and [`find`]
//! reads a [`Record`] back. A probe never judges; see the crate's README.

mod args;
mod catalog;
mod check;
mod family;
mod kind;
mod limit;
mod observe;
mod out;
mod program;
mod record;
mod seal;
mod seen;
mod sys;
mod usage;
mod wire;

pub use catalog::{ArgSpec, Family, ProbeSpec, catalog, probe};
pub use check::check_args;
pub use kind::Kind;
pub use program::{exit, main};
pub use record::{Detail, Event, Outcome, Record, Value};
pub use seal::{Key, word};
pub use usage::UsageError;
pub use wire::{Found, encode, encode_event, events, find};
