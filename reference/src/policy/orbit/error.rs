//! The errors for invalid documents, and for invalid questions about one.

use std::fmt;

use super::rule::SourceLocation;
use crate::error::clipped;

/// An error, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// One sentence; an error that upstream's tools report as well has their words.
    pub message: String,
    /// Its place; `None` where no document is at fault.
    pub place: Option<SourceLocation>,
}

impl PolicyError {
    pub(super) fn at(place: &SourceLocation, message: impl Into<String>) -> Self {
        Self { message: clipped(&message.into()), place: Some(place.clone()) }
    }

    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: clipped(&message.into()), place: None }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "invalid input: {}", self.message)
    }
}

impl std::error::Error for PolicyError {}
