//! Rebuilds when a shipped manifest is added, which `include_dir!` alone does not notice.

fn main() {
    println!("cargo:rerun-if-changed=backends");
}
