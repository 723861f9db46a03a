//! The probe program.
fn main() {}
