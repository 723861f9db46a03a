//! Files that are built into a program, compressed together by its build script. Main type:
//! [`EmbeddedFiles`].

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::DeflateDecoder;

/// Text files by their paths, which are relative to the crate that packed them.
#[derive(Debug)]
pub struct EmbeddedFiles(BTreeMap<&'static str, &'static str>);

impl EmbeddedFiles {
    /// Unpacks path and text of each file, each of them ended by NUL. The texts stay until the process
    /// ends. There are no files where `packed` cannot be read.
    pub fn unpack(packed: &[u8]) -> Self {
        let mut text = String::new();
        if DeflateDecoder::new(packed).read_to_string(&mut text).is_err() {
            return Self(BTreeMap::new());
        }
        let mut parts = text.leak().split_terminator('\0');
        let mut files = BTreeMap::new();
        while let (Some(path), Some(text)) = (parts.next(), parts.next()) {
            files.insert(path, text);
        }
        Self(files)
    }

    /// Returns the text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&'static str> {
        self.0.get(path).copied()
    }

    /// Returns path, from `directory` on, and text of each file below it, sorted.
    pub fn below(&self, directory: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = self.0.iter();
        all.filter_map(move |(path, text)| {
            Some((path.strip_prefix(directory)?.strip_prefix('/')?, *text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use flate2::{Compression, write::DeflateEncoder};

    fn packed(text: &str) -> Vec<u8> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn files_are_found_by_path_and_below_their_directory() {
        let files = EmbeddedFiles::unpack(&packed("a/b.yaml\0one\0a/c/d\0\0ab/e\0two\0"));
        assert_eq!(files.text("a/b.yaml"), Some("one"));
        assert_eq!(files.text("b.yaml"), None);
        assert_eq!(files.below("a").collect::<Vec<_>>(), [("b.yaml", "one"), ("c/d", "")]);
    }

    #[test]
    fn what_cannot_be_unpacked_holds_no_file() {
        let whole = packed("a\0one\0");
        assert_eq!(EmbeddedFiles::unpack(&whole[..whole.len() - 3]).text("a"), None);
    }
}
