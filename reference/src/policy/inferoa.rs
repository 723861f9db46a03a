//! Dialect `inferoa`: the `sandbox` block of a user's configuration file.
//!
//! `SandboxBlock::parse` reads one file and `SandboxBlock::roots` reads the disk. The results are a neutral
//! policy (`settle`) and a report for people (`status`). Where upstream guesses or fails open,
//! this refuses.

mod block;
mod document;
mod expand;
mod resolve;
mod roots;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use block::SandboxBlock;
pub(crate) use document::ConfigError;
pub(crate) use expand::ExpansionContext;
pub(crate) use resolve::{ResolvedBlock, resolve_block};
pub(crate) use status::{status, text};
