//! The verbs.
