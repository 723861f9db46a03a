//! The eyes of boxproof: one multi-call program that tries one thing and says what it saw.
//!
//! [`main`] is the whole program, [`catalog`] lists what it can try, and [`find`]
//! reads a [`ProbeRecord`] back. A probe never judges; see the crate's README.

mod arg_spec;
mod args;
mod catalog;
mod check;
mod deadline;
pub mod exit_code;
mod family;
mod kind;
mod observe;
mod outcome;
mod output;
mod program;
mod record;
mod seal;
mod sys;
mod usage;
mod usage_error;
mod wire;

pub use arg_spec::ArgSpec;
pub use catalog::{ProbeFamily, ProbeSpec, catalog, probe};
pub use check::check_args;
pub use kind::ValueKind;
pub use program::main;
pub use record::{ActOutcome, DetailValue, ProbeEvent, ProbeRecord, RecordDetail};
pub use seal::{SealKey, sealed_nonce};
pub use usage_error::UsageError;
pub use wire::{FoundRecords, encode, encode_event, events, find};
