//! The receipts channel: what execd does becomes signed, chained receipts.

#[doc(hidden)]
pub mod authority;
mod cli;
mod demo;
#[doc(hidden)]
pub mod execd;
pub mod frame;
mod pieces;
mod proxy;
mod relay;
mod sandbox;
mod strict;
mod tls;
mod wire;

pub use cli::{ReceiptsVerb, main};
