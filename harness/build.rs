//! Packs the shipped manifests, compressed together, and links the program so that it starts quickly.

use std::path::{Path, PathBuf};
use std::{env, fs, io, io::Write};

use flate2::{Compression, write::DeflateEncoder};

/// The directory of the manifests.
const BACKENDS: &str = "backends";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={BACKENDS}");
    pack_manifests()?;
    // A tenth of the CPU time for a trivial command would go into 40,000 relocations, and the pages
    // that they write; debug programs have 200,000. The archives' static programs are linked by
    // `.github/packaging/archive.sh`.
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    Ok(())
}

/// Writes the path and the text of each manifest, each ended by NUL, for `boxproof_cases::EmbeddedFiles`.
fn pack_manifests() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let file = fs::File::create(out.join("backends.deflate"))?;
    let mut packed = DeflateEncoder::new(file, Compression::best());
    let names = Path::new(BACKENDS).read_dir()?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    for name in names.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with(".yaml"))
    {
        let path = format!("{BACKENDS}/{name}");
        write!(packed, "{path}\0{}\0", fs::read_to_string(&path)?)?;
    }
    packed.finish().map(drop)
}
