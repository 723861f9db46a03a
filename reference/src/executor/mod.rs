//! Agent executors: a declaration of which program runs an agent, and what confines it.
//!
//! [`Declaration::parse`] reads it, [`start`] says what is started. Whether the outer sandbox is to
//! be had is decided before anything is changed, so that an agent never loses its own sandbox for
//! one that does not run.

mod declaration;
mod envelope;
mod start;

pub use declaration::{Declaration, Outer, Provider};
pub use start::{Machine, Start, start};
