//! The reference sandbox.
fn main() {}
