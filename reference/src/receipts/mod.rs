//! The receipts channel: what execd does for an agent becomes signed, chained receipts.
//!
//! An emitter's [`frame`] becomes an event, the event a place in a chain and a signed receipt, the
//! receipt a line of the store; [`verify`] reads such lines, whoever wrote them.

mod accept;
pub mod canonical;
mod chain;
mod cli;
mod daemon;
mod demo;
pub mod did;
pub mod emit;
mod export;
pub mod frame;
pub mod keys;
mod observer;
mod peer;
mod proxy;
pub mod reading;
mod receipt;
mod relay;
mod store;
mod taxonomy;
mod time;
pub mod verify;

pub use cli::{ReceiptsVerb, main};
