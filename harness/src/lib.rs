//! The verbs: plan, run, judge and collect, and what they act on.

pub mod backend;
pub mod host;
pub mod known;
pub mod plan;
pub mod selection;
mod sys;
