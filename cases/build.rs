//! Rebuilds when a corpus file is added, which `include_dir!` alone does not notice.

fn main() {
    for folder in ["corpus", "requirements", "sets", "capabilities.yaml"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
