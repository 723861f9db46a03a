//! Dialect `orbit`: version 2 policy documents and their decisions.
//!
//! [`Document::parse`] reads one file, [`PolicySet::new`] lays a workspace's document over the
//! host's and validates the whole, [`PolicySet::profile`] returns one profile with every deny
//! behind it, and [`Profile::decide`] decides about a path. None of these touches the disk:
//! [`Resolver`] resolves a path there, and decides on the request and its target.

mod decide;
mod document;
mod doubts;
mod error;
mod gate;
mod glob;
mod index;
mod lines;
mod paths;
mod policy;
mod profile;
mod resolve;
mod rule;
#[cfg(test)]
mod tests;
mod validate;

pub use decide::{Decision, Op, Winner};
pub use document::Document;
pub use doubts::doubts;
pub use error::PolicyError;
pub use gate::{Event, EventKind, Gate, GateError, Sink, Tool};
pub use glob::Glob;
pub use index::Index;
pub use lines::EventLines;
pub use paths::{Asked, spelled};
pub use policy::PolicySet;
pub use profile::{Effect, Origin, Profile, ProfileRule};
pub use resolve::{Looked, OUTSIDE, Resolved, Resolver};
pub use rule::{Place, Rule};
