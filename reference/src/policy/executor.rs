//! Agent executors: a declaration of the program that runs an agent, and of its sandbox.
//!
//! [`ExecutorDeclaration::parse`] reads it, [`start`] returns the command. The outer sandbox is detected
//! before anything is changed, so that an agent never loses its own sandbox for one that does not
//! run.

mod declaration;
mod envelope;
mod start;

pub use declaration::{AgentProvider, ExecutorDeclaration, OuterSandbox};
pub use start::{MachineFacts, Start, start};
