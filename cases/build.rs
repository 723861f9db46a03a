//! Packs the corpus and the other files of this crate that are built into programs, compressed together;
//! `src/embedded.rs` unpacks them.

use std::path::{Path, PathBuf};
use std::{env, fs, io, io::Write};

use flate2::{Compression, write::DeflateEncoder};

/// The directories that are packed.
const PACKED: [&str; 4] = ["corpus", "requirements", "schema", "sets"];

fn main() -> io::Result<()> {
    for read in PACKED.into_iter().chain(["capabilities.yaml", "public-reports.yaml"]) {
        println!("cargo:rerun-if-changed={read}");
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let file = fs::File::create(out.join("files.deflate"))?;
    let mut packed = DeflateEncoder::new(file, Compression::best());
    PACKED.iter().try_for_each(|directory| pack(Path::new(directory), &mut packed))?;
    packed.finish().map(drop)
}

/// Writes the path and the text of each file below `path`, each ended by NUL.
fn pack(path: &Path, packed: &mut impl Write) -> io::Result<()> {
    if !path.is_dir() {
        write!(packed, "{}\0{}\0", path.display(), fs::read_to_string(path)?)?;
        return Ok(());
    }
    let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| pack(entry, packed))
}
