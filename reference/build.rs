//! Links the program so that it starts quickly.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A fifth of the time for a trivial command would go into 24,000 relocations, and the pages that they
    // write.
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
