//! Dialect `orbit`: version 2 policy documents and their decisions.
//!
//! [`PolicyDocument::parse`] reads one file, [`PolicySet::new`] lays a workspace's document over the
//! host's and validates the whole, [`PolicySet::profile`] returns one profile with every deny
//! behind it, and [`ResolvedProfile::decide`] decides about a path. None of these touches the disk:
//! [`PathResolver`] resolves a path there, and decides on the request and its target.

mod decide;
mod document;
mod error;
mod event_lines;
mod glob;
mod index;
mod policy;
mod profile;
mod resolve;
mod rule;
mod rule_warnings;
#[cfg(test)]
mod tests;
mod tool_gate;
mod validate;
mod workspace_path;

pub use decide::{DecidingRule, PolicyDecision, PolicyOperation};
pub use document::PolicyDocument;
pub use error::PolicyError;
pub use event_lines::EventLines;
pub use glob::OrbitGlob;
pub use index::PatternIndex;
pub use policy::PolicySet;
pub use profile::{MatchEffect, PatternOrigin, ProfileRule, ResolvedProfile};
pub use resolve::{LookedUpPath, OUTSIDE, PathResolver, ResolvedPath};
pub use rule::{PatternRule, SourceLocation};
pub use rule_warnings::doubts;
pub use tool_gate::{GateError, GateEvent, GateEventKind, GateEventSink, ToolGate, ToolKind};
pub use workspace_path::{WorkspacePath, spelled};
