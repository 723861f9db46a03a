//! The policy languages of the covered systems.

pub mod caliban;
pub mod inferoa;
pub mod orbit;
