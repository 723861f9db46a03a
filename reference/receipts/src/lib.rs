//! The receipts channel: the actions of execd for an agent become signed, chained receipts.
//!
//! An emitter's [`frame`] becomes an event, the event a place in a chain and a signed receipt, the
//! receipt a line of the store; [`verify`] reads such lines of any implementation.

#![cfg(target_os = "linux")]

#[macro_use]
mod fault;

mod accept;
#[doc(hidden)]
pub mod authority;
pub mod canonical;
mod chain;
mod channel_body;
mod cli;
mod daemon;
mod demo;
pub mod did;
pub mod emit;
#[doc(hidden)]
pub mod execd;
mod export;
pub mod frame;
mod ijson;
pub mod keys;
mod observer;
pub mod parsed_receipt;
mod peer;
mod proxy;
mod receipt;
mod relay;
mod sandbox;
mod stdout;
mod store;
mod strict;
mod taxonomy;
mod time;
mod tls;
pub mod verify;
mod wire;

/// Selects the faults of this process, before anything else.
#[cfg(feature = "faults")]
pub fn select_faults(names: &str) {
    fault::select(names);
}

pub use cli::{ReceiptsVerb, main};
