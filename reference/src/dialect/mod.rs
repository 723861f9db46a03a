//! The policy languages of the covered systems.

pub mod inferoa;
pub mod orbit;
