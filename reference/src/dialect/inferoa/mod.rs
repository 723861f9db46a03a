//! Dialect `inferoa`: the `sandbox` block of a user's configuration file.
//!
//! [`Block::parse`] reads one file and [`Block::roots`] reads the disk. The results are a neutral
//! policy ([`settle`]) and a report for people ([`status`]). Where upstream guesses or fails open,
//! this refuses.

mod block;
mod document;
mod expand;
mod roots;
mod settle;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use block::Block;
pub(crate) use document::Fault;
pub(crate) use expand::Surroundings;
pub(crate) use settle::{Settled, settle};
pub(crate) use status::{status, text};
