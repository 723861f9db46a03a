//! The corpus as tests.
fn main() {}
