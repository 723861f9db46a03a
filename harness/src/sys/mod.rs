//! System calls that the standard library and nix do not offer, or not after a fork.

pub(crate) mod host;
