//! Rebuilds when a shipped manifest is added, which `include_dir!` alone does not notice, and links
//! the debug program so that it starts quickly.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=backends");
    // 200,000 relocations cost a debug program half of its start, and tests start it 50,000 times.
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if is("PROFILE", "debug")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
