//! The key that a run appends to its copy of the probe, and the words that only a reader of that
//! copy can work out: [`word`] stands in every line the sealed probe writes.
//!
//! A program that is only told the command line of a probe knows the nonce, not the word.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The label before the key at the end of a sealed program.
const LABEL: &[u8; 16] = b"\nboxprobe key 1\n";
/// The size of a key, in bytes.
const SIZE: usize = 32;
/// The number of bytes of the digest that a word shows.
const SHOWN: usize = 8;

/// The secret of one run's probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealKey([u8; SIZE]);

impl SealKey {
    /// The key with these bytes.
    #[must_use]
    pub fn new(bytes: [u8; SIZE]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that seal a program when they are appended to it.
    #[must_use]
    pub fn trailer(&self) -> Vec<u8> {
        [&LABEL[..], &self.0[..]].concat()
    }

    /// Reads the key of the program at `path`; `None` when it is not sealed.
    ///
    /// # Errors
    /// When the program cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut trailer = [0; LABEL.len() + SIZE];
        let mut program = File::open(path)?;
        if program.metadata()?.len() < trailer.len() as u64 {
            return Ok(None);
        }
        program.seek(SeekFrom::End(-(trailer.len() as i64)))?;
        program.read_exact(&mut trailer)?;
        let (label, key) = trailer.split_at(LABEL.len());
        let key = key.try_into().ok().filter(|_| label == LABEL);
        Ok(key.map(Self))
    }
}

/// The word that stands for `nonce` in the lines of a probe with `key`; without a key, the nonce.
#[must_use]
pub fn sealed_nonce(key: Option<&SealKey>, nonce: &str) -> String {
    let Some(key) = key else { return nonce.to_owned() };
    let digest = Sha256::new().chain_update(key.0).chain_update(nonce).chain_update(key.0);
    let digest = digest.finalize();
    let shown: String = digest.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    format!("{nonce}.{shown}")
}

/// Computes the word for the running program, which looks for the key in its own file. If that file
/// cannot be read, the word is the nonce, and the reader reports that the record lacks its proof.
pub(crate) fn own_word(nonce: &str) -> String {
    let named = std::env::args_os().next().map(std::path::PathBuf::from);
    let files = ["/proc/self/exe".into()].into_iter().chain(named);
    let key = files.filter_map(|file| SealKey::read(&file).ok()).next().flatten();
    sealed_nonce(key.as_ref(), nonce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const KEY: SealKey = SealKey([7; SIZE]);

    fn read(content: &[u8]) -> Option<SealKey> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("program");
        std::fs::write(&file, content).unwrap();
        SealKey::read(&file).unwrap()
    }

    #[test]
    fn a_sealed_program_gives_its_key_back() {
        assert_eq!(read(&[b"program", &KEY.trailer()[..]].concat()), Some(KEY));
    }

    #[rstest]
    #[case::short(b"program")]
    #[case::unsealed(&[b'x'; 100])]
    fn an_unsealed_program_has_no_key(#[case] content: &[u8]) {
        assert_eq!(read(content), None);
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(SealKey::read(Path::new("/nonexistent/program")).is_err());
    }

    #[test]
    fn a_word_depends_on_key_and_nonce() {
        assert_eq!(sealed_nonce(None, "n"), "n");
        let words = [
            sealed_nonce(Some(&KEY), "n"),
            sealed_nonce(Some(&KEY), "m"),
            sealed_nonce(Some(&SealKey([8; SIZE])), "n"),
        ];
        assert!(words.iter().all(|word| word.len() == 1 + 1 + 2 * SHOWN));
        assert_eq!(words[0], sealed_nonce(Some(&KEY), "n"));
        assert!(words[0] != words[2] && words[0][2..] != words[1][2..]);
    }
}
