//! Models of compiled profiles, worked out from their text alone: [`sbpl`] for Seatbelt profiles,
//! [`mounts`] for the arguments of `bwrap`. These models judge, so they share no code with any
//! backend. Pure.
//!
//! A deed is permitted if a command could do it to the host's own object. An effect on a private
//! object of the same name is no deed.

pub mod mounts;
pub mod sbpl;

use std::fmt;

/// The reason why a text has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// The system itself refuses the whole text, and nothing runs.
    Void(String),
    /// The model does not know this, so that nothing can be said.
    Unknown(String),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void(why) => write!(f, "nothing runs under it: {why}"),
            Self::Unknown(what) => write!(f, "the model does not know {what}"),
        }
    }
}
