//! Goldens.
