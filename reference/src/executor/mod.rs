//! Agent executors: a declaration of the program that runs an agent, and of its sandbox.
//!
//! [`Declaration::parse`] reads it, [`start`] returns the command. The outer sandbox is detected
//! before anything is changed, so that an agent never loses its own sandbox for one that does not
//! run.

mod declaration;
mod envelope;
mod start;

pub use declaration::{Declaration, Outer, Provider};
pub use start::{Machine, Start, start};
