//! Rebuilds when a corpus file is added, which `include_dir!` alone does not notice.

fn main() {
    for directory in
        ["corpus", "requirements", "sets", "schema", "capabilities.yaml", "public-reports.yaml"]
    {
        println!("cargo:rerun-if-changed={directory}");
    }
}
