//! The policy languages of the covered systems.

pub mod orbit;
