//! boxproof.
fn main() {}
