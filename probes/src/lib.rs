//! The eyes of boxproof: one multi-call program that tries one thing and says what it saw.
//!
//! [`main`] is the whole program, [`catalog`] lists what it can try, and [`find`]
//! reads a [`ProbeRecord`] back. A probe never judges; see the crate's README.

mod args;
mod catalog;
mod check;
mod deadline;
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
mod wire;

pub use catalog::{ArgSpec, ProbeFamily, ProbeSpec, catalog, probe};
pub use check::check_args;
pub use kind::ValueKind;
pub use program::{exit, main};
pub use record::{ActOutcome, DetailValue, ProbeEvent, ProbeRecord, RecordDetail};
pub use seal::{SealKey, sealed_nonce};
pub use usage::UsageError;
pub use wire::{FoundRecords, encode, encode_event, events, find};
