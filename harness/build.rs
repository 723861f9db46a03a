//! Rebuilds when a shipped manifest is added, which `include_dir!` alone does not notice, and links
//! the program so that it starts quickly.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=backends");
    // A tenth of the CPU time for a trivial command would go into 40,000 relocations, and the pages
    // that they write; debug programs have 200,000. The archives' static programs are linked by
    // `.github/packaging/archive.sh`.
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
