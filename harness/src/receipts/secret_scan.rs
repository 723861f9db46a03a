//! Looking at a channel from outside: texts that should be nowhere, a key that should not be near.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use ed25519_dalek::SigningKey;
use memchr::memmem;

/// Lists each of `texts` with the file it is in, below `directory` or in `files`, one sentence each.
pub fn disclosed(texts: &[String], directory: &Path, files: &[PathBuf]) -> Vec<String> {
    let below = walkdir::WalkDir::new(directory).into_iter().filter_map(Result::ok);
    let below = below.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    let mut found = Vec::new();
    for file in below.chain(files.iter().cloned()) {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let here = texts.iter().filter(|text| has(&bytes, text.as_bytes()));
        found.extend(here.map(|text| format!("`{text}` is in {name}")));
    }
    found
}

fn has(bytes: &[u8], what: &[u8]) -> bool {
    !what.is_empty() && memmem::find(bytes, what).is_some()
}

/// Lists the places of `key` in the environment, command line and memory of process `pid` and in
/// the directory of its sandbox.
///
/// # Errors
/// The part that could not be read.
pub fn key_near(key: &SigningKey, pid: u32, directory: &Path) -> Result<Vec<String>, String> {
    let seed = key.to_bytes();
    let forms = forms(&seed);
    let mut found = Vec::new();
    let mut look = |name: &str, bytes: &[u8]| {
        if forms.iter().any(|form| has(bytes, form)) {
            found.push(format!("the signing key is in the proxy's {name}"));
        }
    };
    let proc = PathBuf::from(format!("/proc/{pid}"));
    for name in ["environ", "cmdline"] {
        let bytes = std::fs::read(proc.join(name)).map_err(|e| format!("{name}: {e}"))?;
        look(name, &bytes);
    }
    for entry in walkdir::WalkDir::new(directory).into_iter().filter_map(Result::ok) {
        if let Ok(bytes) = std::fs::read(entry.path()) {
            look(&entry.file_name().to_string_lossy(), &bytes);
        }
    }
    for bytes in memory(&proc)? {
        look("memory", &bytes);
    }
    found.dedup();
    Ok(found)
}

/// The seed as bytes, in hex, and as PEM's base64 has it.
fn forms(seed: &[u8; 32]) -> Vec<Vec<u8>> {
    let hex: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
    let standard = base64::engine::general_purpose::STANDARD;
    let der =
        [&[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20], &seed[..]];
    // The first part of it is the same for every key: only the part after it counts.
    let pem = standard.encode(der.concat());
    let tail = pem.trim_end_matches('=').get(24..62).unwrap_or_default().to_owned();
    vec![seed.to_vec(), hex.into_bytes(), tail.into_bytes()]
}

/// Reads every writable mapping of the process's memory.
fn memory(proc: &Path) -> Result<Vec<Vec<u8>>, String> {
    use std::os::unix::fs::FileExt as _;
    let maps = std::fs::read_to_string(proc.join("maps")).map_err(|e| format!("maps: {e}"))?;
    let memory = std::fs::File::open(proc.join("mem")).map_err(|e| format!("mem: {e}"))?;
    let mut pieces = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let Some((from, to)) = range else { continue };
        let parsed = u64::from_str_radix(from, 16).ok().zip(u64::from_str_radix(to, 16).ok());
        let Some((from, to)) = parsed else { continue };
        let mut bytes = vec![0; usize::try_from(to - from).unwrap_or(0).min(64 << 20)];
        // Some pieces are not there to be read; a stack's guard, for one.
        let count = memory.read_at(&mut bytes, from).unwrap_or(0);
        bytes.truncate(count);
        pieces.push(bytes);
    }
    match pieces.iter().any(|piece| !piece.is_empty()) {
        true => Ok(pieces),
        false => Err("mem: nothing could be read".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_near_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let key = SigningKey::from_bytes(&[9; 32]);
        let pid = std::process::id();
        let before = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        assert!(!forms(&[9; 32]).iter().any(|form| has(&before, form)));
        let pem = crate::receipts::keys::private_pem(&key).unwrap();
        std::fs::write(directory.path().join("stray"), pem).unwrap();
        let found = key_near(&key, pid, directory.path()).unwrap();
        assert!(found.iter().any(|text| text.ends_with("stray")), "{found:?}");
        assert!(found.iter().any(|text| text.ends_with("memory")), "{found:?}");
    }

    #[test]
    fn a_text_is_found_wherever_it_is() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("store"), "a secret b").unwrap();
        let found = disclosed(&["secret".into(), "other".into()], directory.path(), &[]);
        assert_eq!(found, ["`secret` is in store"]);
    }
}
